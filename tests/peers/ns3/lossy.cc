// One station of an 802.11a cell whose frames are lost on the air, and sent again a few times.
//
// Arguments: probability that a frame is lost, how often it is sent at most, frames, seed. Prints
// the share of frames that arrive, and transmissions per frame.
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>
#include <cstdlib>

using namespace ns3;

static uint64_t sent = 0;
static uint64_t received = 0;

static void
Sent(std::string, Ptr<const Packet> packet, double)
{
    sent += packet->GetSize() > 500; // no acknowledgement
}

static void
Received(std::string, Ptr<const Packet>)
{
    ++received;
}

static void
Send(Ptr<NetDevice> device, Address to)
{
    device->Send(Create<Packet>(1000), to, 0x88b5);
}

int
main(int, char** argv)
{
    const uint32_t frames = std::atoi(argv[3]);
    RngSeedManager::SetSeed(std::atoi(argv[4]));
    Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(std::atoi(argv[2])));
    NodeContainer nodes;
    nodes.Create(2);
    MobilityHelper().Install(nodes);
    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    Ptr<FixedRssLossModel> strength = CreateObject<FixedRssLossModel>();
    strength->SetRss(-50);
    channel->SetPropagationLossModel(strength);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
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
    Ptr<RateErrorModel> losses = CreateObject<RateErrorModel>();
    losses->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    losses->SetRate(std::atof(argv[1]));
    DynamicCast<WifiNetDevice>(devices.Get(0))->GetPhy()->SetPostReceptionErrorModel(losses);
    for (uint32_t i = 0; i < frames; ++i)
    {
        Simulator::Schedule(MilliSeconds(100 * i), &Send, devices.Get(1), devices.Get(0)->GetAddress());
    }
    Config::Connect("/NodeList/1/DeviceList/*/$ns3::WifiNetDevice/Phy/PhyTxBegin",
                    MakeCallback(&Sent));
    Config::Connect("/NodeList/0/DeviceList/*/$ns3::WifiNetDevice/Mac/MacRx",
                    MakeCallback(&Received));
    Simulator::Stop(MilliSeconds(100 * frames));
    Simulator::Run();
    std::printf("{\"arrived\": %.6g, \"transmissions\": %.6g}\n",
                double(received) / frames,
                double(sent) / frames);
    Simulator::Destroy();
    return 0;
}
