// Stations that send frames of 1000 bytes at 1 Mb/s whenever their Poisson clock ticks (ALOHA).
//
// Arguments: stations, offered load G in ticks per airtime of idle stations, airtimes, seed. Prints
// frames received and frames sent, per airtime. A frame is lost if another overlaps it.
#include "ns3/adhoc-aloha-noack-ideal-phy-helper.h"
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/spectrum-module.h"

#include <cstdio>
#include <cstdlib>

using namespace ns3;

static const double AIRTIME = 8e-3;
static const uint32_t HEADER = 14; // that the device adds
static uint64_t sent = 0;
static uint64_t received = 0;

static void
Tick(Ptr<NetDevice> device, Ptr<ExponentialRandomVariable> gap, Time idle)
{
    Time now = Simulator::Now();
    if (now >= idle)
    {
        ++sent;
        device->Send(Create<Packet>(1000 - HEADER), device->GetBroadcast(), 0x88b5);
        idle = now + Seconds(AIRTIME);
    }
    Simulator::Schedule(Seconds(gap->GetValue()), &Tick, device, gap, idle);
}

static bool
Received(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    ++received;
    return true;
}

int
main(int, char** argv)
{
    const uint32_t stations = std::atoi(argv[1]);
    const double airtimes = std::atof(argv[3]);
    RngSeedManager::SetSeed(std::atoi(argv[4]));
    NodeContainer nodes;
    nodes.Create(stations + 1);
    MobilityHelper().Install(nodes);
    SpectrumChannelHelper channels = SpectrumChannelHelper::Default();
    channels.SetChannel("ns3::SingleModelSpectrumChannel");
    Ptr<SpectrumChannel> channel = channels.Create();
    // Two bands of 180 kHz, and a signal whose capacity is just above the rate while no other disturbs.
    std::vector<double> centre{2.4e9, 2.4e9 + 18e4};
    Ptr<SpectrumModel> band = Create<SpectrumModel>(centre);
    Ptr<SpectrumValue> power = Create<SpectrumValue>(band);
    Ptr<SpectrumValue> noise = Create<SpectrumValue>(band);
    (*power)[0] = (*power)[1] = 1e-6;
    (*noise)[0] = (*noise)[1] = 1e-6 / 6;
    AdhocAlohaNoackIdealPhyHelper helper;
    helper.SetChannel(channel);
    helper.SetTxPowerSpectralDensity(power);
    helper.SetNoisePowerSpectralDensity(noise);
    helper.SetPhyAttribute("Rate", DataRateValue(DataRate("1Mbps")));
    NetDeviceContainer devices = helper.Install(nodes);
    devices.Get(0)->SetReceiveCallback(MakeCallback(&Received));
    for (uint32_t i = 1; i <= stations; ++i)
    {
        Ptr<ExponentialRandomVariable> gap = CreateObject<ExponentialRandomVariable>();
        gap->SetAttribute("Mean", DoubleValue(AIRTIME * stations / std::atof(argv[2])));
        Simulator::Schedule(Seconds(gap->GetValue()), &Tick, devices.Get(i), gap, Time(0));
    }
    Simulator::Stop(Seconds(AIRTIME * airtimes));
    Simulator::Run();
    std::printf("{\"received\": %.6g, \"sent\": %.6g}\n", received / airtimes, sent / airtimes);
    Simulator::Destroy();
    return 0;
}
