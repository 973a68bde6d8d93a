// Stations of one 802.15.4 cell without backoff: non-persistent carrier sense (CSMA).
//
// A station whose Poisson clock ticks listens; if it finds the channel busy it drops the frame, else
// it sends 192 µs later. Arguments: stations, offered load G in ticks per airtime of idle stations,
// airtimes, seed. Prints frames sent and frames that no other overlapped, per airtime of 4256 µs: the
// receiver of ns-3 decodes most frames of two equal signals, which is capture.
#include "ns3/core-module.h"
#include "ns3/lr-wpan-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/spectrum-module.h"

#include <cstdio>
#include <cstdlib>

using namespace ns3;
using namespace ns3::lrwpan;

static const double AIRTIME = 4256e-6; // 133 bytes at 250 kb/s
static uint64_t sent = 0;
static uint64_t collided = 0;
static Time freeFrom;
static bool alone = false;
static std::vector<bool> busy;

static void
Tick(Ptr<LrWpanMac> mac, uint32_t station, Ptr<ExponentialRandomVariable> gap)
{
    if (!busy[station])
    {
        busy[station] = true;
        McpsDataRequestParams to;
        to.m_srcAddrMode = SHORT_ADDR;
        to.m_dstAddrMode = SHORT_ADDR;
        to.m_dstPanId = 0;
        to.m_dstAddr = Mac16Address("00:01");
        mac->McpsDataRequest(to, Create<Packet>(116)); // 127 bytes with header and checksum
    }
    Simulator::Schedule(Seconds(gap->GetValue()), &Tick, mac, station, gap);
}

static void
Over(uint32_t station, McpsDataConfirmParams)
{
    busy[station] = false;
}

static void
Begun(Ptr<const Packet>)
{
    ++sent;
    const Time now = Simulator::Now();
    if (now < freeFrom)
    {
        collided += alone ? 2 : 1;
        alone = false;
    }
    else
    {
        alone = true;
    }
    freeFrom = Max(freeFrom, now + Seconds(AIRTIME));
}

int
main(int, char** argv)
{
    const uint32_t stations = std::atoi(argv[1]);
    const double airtimes = std::atof(argv[3]);
    RngSeedManager::SetSeed(std::atoi(argv[4]));
    busy.assign(stations + 1, false);
    NodeContainer nodes;
    nodes.Create(stations + 1);
    MobilityHelper().Install(nodes);
    Ptr<SingleModelSpectrumChannel> channel = CreateObject<SingleModelSpectrumChannel>();
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    Ptr<FixedRssLossModel> loss = CreateObject<FixedRssLossModel>();
    loss->SetRss(-60);
    channel->AddPropagationLossModel(loss);
    LrWpanHelper helper;
    helper.SetChannel(channel);
    NetDeviceContainer devices = helper.Install(nodes);
    for (uint32_t i = 0; i <= stations; ++i)
    {
        Ptr<LrWpanNetDevice> device = DynamicCast<LrWpanNetDevice>(devices.Get(i));
        Ptr<LrWpanMac> mac = device->GetMac();
        mac->SetShortAddress(Mac16Address(i + 1));
        mac->SetPanId(0);
        if (i == 0)
        {
            continue;
        }
        Ptr<LrWpanCsmaCa> access = device->GetCsmaCa();
        access->SetUnSlottedCsmaCa();
        access->SetMacMinBE(0);
        access->SetMacMaxCSMABackoffs(0);
        mac->SetMcpsDataConfirmCallback(MakeBoundCallback(&Over, i));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Begun));
        Ptr<ExponentialRandomVariable> gap = CreateObject<ExponentialRandomVariable>();
        gap->SetAttribute("Mean", DoubleValue(AIRTIME * stations / std::atof(argv[2])));
        Simulator::Schedule(Seconds(gap->GetValue()), &Tick, mac, i, gap);
    }
    Simulator::Stop(Seconds(AIRTIME * airtimes));
    Simulator::Run();
    std::printf("{\"received\": %.6g, \"sent\": %.6g}\n",
                (sent - collided) / airtimes,
                sent / airtimes);
    Simulator::Destroy();
    return 0;
}
