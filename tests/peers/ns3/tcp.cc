// Owners that send answers to a learner by TCP, over a link that all share (the bottleneck).
//
// Each owner has a link of 1 Gb/s and 1 ms to a router and one connection, which stays open; the
// router has a link of 10 Mb/s and 5 ms to the learner, with ns-3's default queue (FqCoDel) and TCP.
// Arguments: owners, bytes of an answer, load (0: rounds, in which all owners send at once and the
// next begins when all have arrived; else ticks of all idle owners' Poisson clocks per time in which
// the shared link carries an answer's bytes), answers, seed. Prints, per second or in seconds, the
// rate of answers, the mean and the coefficient of variation of the time from tick to arrival, the
// mean number of other arrivals in it, and the share of answers whose owner is that of the last one.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace ns3;

struct Owner
{
    Ptr<Socket> socket;
    Ptr<ExponentialRandomVariable> gap;
    bool busy = false;
    double since = 0;
    uint32_t seen = 0; // answers that had arrived at its tick
    uint32_t left = 0; // bytes of its answer that have not arrived
};

static std::vector<Owner> owners;
static std::vector<double> times;
static uint32_t bytes;
static uint32_t wanted;
static uint32_t under_way = 0;
static uint32_t count = 0;
static uint32_t last = 0;
static double stale = 0;
static double repeats = 0;
static double begun = 0;
static bool rounds = false;
static double warm = 10;

static void
Answer(uint32_t number)
{
    Owner& owner = owners[number];
    owner.busy = true;
    owner.since = Simulator::Now().GetSeconds();
    owner.seen = count;
    owner.left = bytes;
    ++under_way;
    owner.socket->Send(Create<Packet>(bytes));
}

static void
Tick(uint32_t number)
{
    Owner& owner = owners[number];
    if (!owner.busy)
    {
        Answer(number);
    }
    Simulator::Schedule(Seconds(owner.gap->GetValue()), &Tick, number);
}

static void
Round()
{
    for (uint32_t i = 0; i < owners.size(); ++i)
    {
        Answer(i);
    }
}

static void
Arrived(uint32_t number)
{
    Owner& owner = owners[number];
    owner.busy = false;
    --under_way;
    const double now = Simulator::Now().GetSeconds();
    if (now >= warm)
    {
        if (times.empty())
        {
            begun = now;
        }
        times.push_back(now - owner.since);
        stale += count - owner.seen;
        repeats += number == last;
    }
    last = number;
    ++count;
    if (times.size() >= wanted)
    {
        Simulator::Stop();
    }
    else if (rounds && under_way == 0)
    {
        Simulator::ScheduleNow(&Round);
    }
}

static void
Received(Ptr<Socket> socket)
{
    Address from;
    while (Ptr<Packet> packet = socket->RecvFrom(from))
    {
        const uint32_t number = InetSocketAddress::ConvertFrom(from).GetPort() - 2000;
        uint32_t& left = owners[number].left;
        left -= std::min(left, packet->GetSize());
        if (left == 0 && owners[number].busy)
        {
            Arrived(number);
        }
    }
}

static void
Connect(uint32_t number)
{
    owners[number].socket->Connect(InetSocketAddress(Ipv4Address("10.0.0.1"), 1000));
}

static void
Accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Received));
}

int
main(int, char** argv)
{
    const uint32_t n = std::atoi(argv[1]);
    bytes = std::atoi(argv[2]);
    const double load = std::atof(argv[3]);
    wanted = std::atoi(argv[4]);
    rounds = load == 0;
    warm = std::max(10.0, 75 * bytes * 8 / 10e6);
    RngSeedManager::SetSeed(std::atoi(argv[5]));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    NodeContainer nodes;
    nodes.Create(n + 2); // learner, router, owners
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    PointToPointHelper shared;
    shared.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    shared.SetChannelAttribute("Delay", StringValue("5ms"));
    address.Assign(shared.Install(nodes.Get(0), nodes.Get(1)));
    PointToPointHelper own;
    own.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    own.SetChannelAttribute("Delay", StringValue("1ms"));
    owners.resize(n);
    for (uint32_t i = 0; i < n; ++i)
    {
        address.NewNetwork();
        address.Assign(own.Install(nodes.Get(1), nodes.Get(i + 2)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    TypeId tcp = TypeId::LookupByName("ns3::TcpSocketFactory");
    Ptr<Socket> door = Socket::CreateSocket(nodes.Get(0), tcp);
    door->Bind(InetSocketAddress(Ipv4Address::GetAny(), 1000));
    door->Listen();
    door->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                            MakeCallback(&Accepted));
    for (uint32_t i = 0; i < n; ++i)
    {
        Owner& owner = owners[i];
        owner.socket = Socket::CreateSocket(nodes.Get(i + 2), tcp);
        owner.socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 2000 + i));
        Simulator::Schedule(Seconds(0.1), &Connect, i);
        owner.gap = CreateObject<ExponentialRandomVariable>();
        if (!rounds)
        {
            owner.gap->SetAttribute("Mean", DoubleValue(n * bytes * 8 / 10e6 / load));
            Simulator::Schedule(Seconds(1 + owner.gap->GetValue()), &Tick, i);
        }
    }
    if (rounds)
    {
        Simulator::Schedule(Seconds(1), &Round);
    }
    Simulator::Run();
    double mean = 0;
    double square = 0;
    for (double time : times)
    {
        mean += time / times.size();
        square += time * time / times.size();
    }
    std::printf("{\"rate\": %.6g, \"mean\": %.6g, \"cv\": %.6g, \"staleness\": %.6g, \"repeats\": "
                "%.6g}\n",
                (times.size() - 1) / (Simulator::Now().GetSeconds() - begun),
                mean,
                std::sqrt(std::max(0.0, square - mean * mean)) / mean,
                stale / times.size(),
                repeats / times.size());
    Simulator::Destroy();
    return 0;
}
