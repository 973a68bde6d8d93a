// Stations of one 802.11a cell that always have a frame for one receiver (54 Mb/s, 1036 bytes).
//
// Arguments: stations, first window, last window, whether stations detect preambles (1: a collision
// of equal powers is no frame, so stations wait DIFS; 0: it is one in error, so they wait EIFS),
// seconds, seed. Prints frames received per second and the share of transmissions without an
// acknowledgement.
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>
#include <cstdlib>

using namespace ns3;

static const double WARM = 1.0;
static uint64_t sent = 0;
static uint64_t received = 0;

static bool
Counts(Ptr<const Packet> packet)
{
    return Simulator::Now().GetSeconds() >= WARM && packet->GetSize() > 500; // no acknowledgement
}

static void
Sent(std::string, Ptr<const Packet> packet, double)
{
    sent += Counts(packet);
}

static void
Received(std::string, Ptr<const Packet> packet)
{
    received += Counts(packet);
}

static void
Refill(Ptr<NetDevice> device, Address to, Time every)
{
    device->Send(Create<Packet>(1000), to, 0x88b5);
    Simulator::Schedule(every, &Refill, device, to, every);
}

int
main(int, char** argv)
{
    const uint32_t stations = std::atoi(argv[1]);
    const double seconds = std::atof(argv[5]);
    RngSeedManager::SetSeed(std::atoi(argv[6]));
    Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(65535));
    NodeContainer nodes;
    nodes.Create(stations + 1);
    MobilityHelper().Install(nodes);
    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    Ptr<FixedRssLossModel> loss = CreateObject<FixedRssLossModel>();
    loss->SetRss(-50);
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    if (std::atoi(argv[4]) == 0)
    {
        phy.DisablePreambleDetectionModel();
    }
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("OfdmRate54Mbps"),
                                 "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    const Time every = MicroSeconds(200 + 20 * stations); // more than gets through, of each station
    for (uint32_t i = 0; i <= stations; ++i)
    {
        Ptr<Txop> access = DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac()->GetTxop();
        access->SetMinCw(std::atoi(argv[2]) - 1);
        access->SetMaxCw(std::atoi(argv[3]) - 1);
        access->GetWifiMacQueue()->SetMaxSize(QueueSize("20p"));
        if (i > 0)
        {
            Address to = devices.Get(0)->GetAddress();
            Simulator::Schedule(MicroSeconds(7 * i), &Refill, devices.Get(i), to, every);
        }
    }
    Config::Connect("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Phy/PhyTxBegin",
                    MakeCallback(&Sent));
    Config::Connect("/NodeList/0/DeviceList/*/$ns3::WifiNetDevice/Mac/MacRx",
                    MakeCallback(&Received));
    Simulator::Stop(Seconds(WARM + seconds));
    Simulator::Run();
    std::printf("{\"rate\": %.6g, \"collided\": %.6g}\n",
                received / seconds,
                1 - double(received) / sent);
    Simulator::Destroy();
    return 0;
}
