// Owners that send answers to a learner by TCP, over a link that all share (the bottleneck).
//
// Each owner has a link of 1 Gb/s and 1 ms to a router and one connection, which stays open; the
// router has a link of 10 Mb/s and 5 ms to the learner, with ns-3's default queue (FqCoDel) and TCP.
// Arguments: the protocol, owners, bytes of an answer and of a query, seconds that are left out, when
// the run ends, seconds between broadcasts, and the way of queries: "same", a "connection" of their
// own, or a "link" of their own as fast as the shared one; further ones are an attribute and its
// value (of the queue, for example). Standard input has the ticks of owners' clocks, in order: owner,
// from 0, and time. A tick of an owner that is busy is dropped.
//   push: a tick sends an answer.
//   request: a tick sends a request of 40 bytes; the learner serves one owner at a time, first come
//     first served: it sends a query, and is free when the answer has arrived.
//   broadcast: the learner sends a query to every owner at 0, interval, ...; a tick sends an answer
//     to the newest query that has arrived, once.
//   rounds: the learner sends a query to every owner, who computes for its (one) time on standard
//     input, or not at all, and answers; the next round begins when all answers have arrived.
// Prints the rate of updates per second, the mean and the coefficient of variation of the time from
// the tick (of rounds: from their beginning) to arrival, the mean number of updates between the
// learner's reading of its model and arrival, the share of answers of the last one's owner, and the
// answers of each owner.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>

using namespace ns3;

struct Way // one direction of a connection
{
    Ptr<Socket> socket;
    std::deque<std::pair<uint32_t, std::function<void()>>> messages; // bytes left; what follows

    void Send(uint32_t size, std::function<void()> then)
    {
        messages.emplace_back(size, then);
        socket->Send(Create<Packet>(size));
    }

    void Receive(uint32_t size)
    {
        while (size > 0)
        {
            const uint32_t part = std::min(size, messages.front().first);
            messages.front().first -= part;
            size -= part;
            if (messages.front().first == 0)
            {
                const std::function<void()> then = messages.front().second;
                messages.pop_front();
                then();
            }
        }
    }
};

struct Owner
{
    Way up;
    Way down;
    bool busy = false;
    bool asked = false;  // a query has arrived that it has not begun to answer
    uint32_t query = 0;  // updates when that query's model was read
    uint32_t seen = 0;   // updates when the model was read that it answers
    double since = 0;
    double computes = 0; // seconds, in rounds
    uint32_t answers = 0;
};

static std::vector<Owner> owners;
static std::vector<double> times;
static std::deque<uint32_t> line; // owners whose requests wait; the first is served
static std::string protocol;
static uint32_t bytes;
static uint32_t under_way = 0; // of a round's answers
static uint32_t updates = 0;
static uint32_t last = 0;
static std::vector<double> ends; // of updates
static double stale = 0;
static double repeats = 0;
static double warm;
static double interval;

static void Serve();
static void Round();

static void
Arrived(uint32_t number)
{
    Owner& owner = owners[number];
    owner.busy = false;
    const double now = Simulator::Now().GetSeconds();
    if (now >= 1 + warm)
    {
        times.push_back(now - owner.since);
        stale += updates - owner.seen;
        repeats += number == last;
        ++owner.answers;
    }
    last = number;
    --under_way;
    if (protocol == "rounds" && under_way > 0)
    {
        return;
    }
    ++updates;
    if (now >= 1 + warm)
    {
        ends.push_back(now);
    }
    if (protocol == "rounds")
    {
        Simulator::ScheduleNow(&Round);
    }
    else if (protocol == "request")
    {
        line.pop_front();
        Serve();
    }
}

static void
Answer(uint32_t number)
{
    owners[number].up.Send(bytes, [number] { Arrived(number); });
}

static void
Serve()
{
    if (!line.empty())
    {
        const uint32_t number = line.front();
        owners[number].seen = updates;
        owners[number].down.Send(bytes, [number] { Answer(number); });
    }
}

static void
Request(uint32_t number)
{
    line.push_back(number);
    if (line.size() == 1)
    {
        Serve();
    }
}

static void
Round()
{
    for (uint32_t i = 0; i < owners.size(); ++i)
    {
        owners[i].since = Simulator::Now().GetSeconds();
        owners[i].seen = updates;
        owners[i].down.Send(bytes, [i] {
            Simulator::Schedule(Seconds(owners[i].computes), &Answer, i);
        });
    }
    under_way = owners.size();
}

static void
Broadcast()
{
    for (Owner& owner : owners)
    {
        const uint32_t read = updates;
        owner.down.Send(bytes, [&owner, read] {
            owner.asked = true;
            owner.query = read;
        });
    }
    Simulator::Schedule(Seconds(interval), &Broadcast);
}

static void
Tick(uint32_t number)
{
    Owner& owner = owners[number];
    const bool broadcast = protocol == "broadcast";
    if (owner.busy || (broadcast && !owner.asked))
    {
        return;
    }
    owner.busy = true;
    owner.asked = false;
    owner.since = Simulator::Now().GetSeconds();
    owner.seen = broadcast ? owner.query : updates;
    if (protocol == "request")
    {
        owner.up.Send(40, [number] { Request(number); });
    }
    else
    {
        Answer(number);
    }
}

static void
Received(Way* way, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        way->Receive(packet->GetSize());
    }
}

static void
Connect(Ptr<Socket> socket, InetSocketAddress to)
{
    socket->Connect(to);
}

static void
Accepted(Ptr<Socket> socket, const Address& from)
{
    const uint32_t number = InetSocketAddress::ConvertFrom(from).GetPort() - 2000;
    Owner& owner = owners[number % owners.size()];
    owner.down.socket = socket; // of two connections the second carries queries
    socket->SetRecvCallback(MakeBoundCallback(&Received, &owner.up));
}

static void
Open(Ptr<Node> node) // what connections are accepted at
{
    Ptr<Socket> door = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    door->Bind(InetSocketAddress(Ipv4Address::GetAny(), 1000));
    door->Listen();
    door->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                            MakeCallback(&Accepted));
}

static Ptr<Socket>
Begin(Ptr<Node> node, uint32_t number, double time, Ipv4Address to) // a connection of an owner
{
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 2000 + number));
    socket->SetRecvCallback(MakeBoundCallback(&Received, &owners[number % owners.size()].down));
    Simulator::Schedule(Seconds(time), &Connect, socket, InetSocketAddress(to, 1000));
    return socket;
}

int
main(int count, char** argv)
{
    protocol = argv[1];
    const uint32_t n = std::atoi(argv[2]);
    bytes = std::atoi(argv[3]);
    warm = std::atof(argv[4]);
    const double until = std::atof(argv[5]);
    interval = std::atof(argv[6]);
    const std::string way = argv[7];
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    for (int i = 8; i + 1 < count; i += 2)
    {
        Config::SetDefault(argv[i], StringValue(argv[i + 1]));
    }
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
    Ptr<Node> querier = nodes.Get(0);
    Ipv4Address from("10.0.0.1");
    if (way == "link")
    {
        querier = CreateObject<Node>();
        InternetStackHelper().Install(querier);
        address.NewNetwork();
        from = address.Assign(shared.Install(querier, nodes.Get(1))).GetAddress(0);
        Open(querier);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Open(nodes.Get(0));
    for (uint32_t i = 0; i < n; ++i)
    {
        owners[i].up.socket = Begin(nodes.Get(i + 2), i, 0.1, Ipv4Address("10.0.0.1"));
        if (way != "same")
        {
            Begin(nodes.Get(i + 2), n + i, 0.5, from);
        }
    }
    uint32_t number;
    double time;
    while (std::scanf("%u %lf", &number, &time) == 2)
    {
        if (protocol == "rounds")
        {
            owners[number].computes = time;
            continue;
        }
        Simulator::Schedule(Seconds(1 + time), &Tick, number);
    }
    if (protocol == "broadcast" || protocol == "rounds")
    {
        Simulator::Schedule(Seconds(1), protocol == "rounds" ? &Round : &Broadcast);
    }
    Simulator::Stop(Seconds(1 + until));
    Simulator::Run();
    double mean = 0;
    double square = 0;
    for (double each : times)
    {
        mean += each / times.size();
        square += each * each / times.size();
    }
    std::printf("{\"rate\": %.6g, \"mean\": %.6g, \"cv\": %.6g, \"staleness\": %.6g, \"repeats\": "
                "%.6g, \"answers\": [",
                (ends.size() - 1) / (ends.back() - ends.front()),
                mean,
                std::sqrt(std::max(0.0, square - mean * mean)) / mean,
                stale / times.size(),
                repeats / times.size());
    for (uint32_t i = 0; i < n; ++i)
    {
        std::printf("%s%u", i == 0 ? "" : ", ", owners[i].answers);
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}
