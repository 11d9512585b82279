// Reports of metrics over HTTP, from many connections at once: how long each takes, what this
// process itself uses, and whether every point that was acknowledged is there afterwards. The
// cluster and its running trials are made by bench/http_load.sh.
//   http_load HOST PORT TOKEN TRIALS [CONNECTIONS=1000] [PER_SECOND=10] [SECONDS=60]
// TRIALS: how many, with ids from 1, in their first runs.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kMetrics = 5;

struct Options {
  std::string host;
  std::uint16_t port = 0;
  std::string token;
  std::uint32_t trials = 1;
  std::uint32_t connections = 1000;
  std::uint32_t per_second = 10;
  std::uint32_t seconds = 60;
};

[[noreturn]] void die(const std::string& text) {
  fmt::print(stderr, "http_load: {}\n", text);
  std::exit(1);
}

int connect_to(const Options& options) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  if (::inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1)
    die("no address: " + options.host);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    die("cannot connect");
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

std::string http_request(const Options& options, std::string_view method, std::string_view path,
                         std::string_view body) {
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{}",
      method, path, options.host, options.token, body.size(), body);
}

/// One client: a report every so often, one on its way at a time.
struct Client {
  int fd = -1;
  std::uint32_t number = 0;
  std::uint32_t trial = 0;
  std::uint64_t sent = 0;
  Clock::time_point due;
  Clock::time_point sent_at;
  bool is_waiting = false;
  std::string received;
};

std::string report_of(const Options& options, const Client& client) {
  const std::uint64_t step = client.sent * options.connections + client.number;
  std::string metrics;
  for (int i = 0; i < kMetrics; ++i)
    metrics += fmt::format("{}\"m{}\":{}.5", i == 0 ? "" : ",", i,
                           (step * 7 + static_cast<std::uint64_t>(i)) % 1000);
  const std::string body = fmt::format(
      R"({{"group":"training","metrics":{{"trialId":{},"trialRunId":1,"stepsCompleted":{},"reportTime":null,"metrics":{{"avgMetrics":{{{}}},"batchMetrics":null}}}}}})",
      client.trial, step, metrics);
  return http_request(options, "POST", fmt::format("/api/v1/trials/{}/metrics", client.trial),
                      body);
}

/// True when a whole answer is there; it is taken off, and must say 200.
bool consume_answer(std::string& received) {
  const std::size_t end = received.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::size_t header = received.find("Content-Length: ");
  if (header == std::string::npos || header > end)
    die("an answer without a length: " + received.substr(0, 200));
  const std::size_t size = std::strtoul(received.c_str() + header + 16, nullptr, 10);
  if (received.size() < end + 4 + size) return false;
  if (received.compare(0, 12, "HTTP/1.1 200") != 0) die(received.substr(0, 400));
  received.erase(0, end + 4 + size);
  return true;
}

class Load {
 public:
  explicit Load(Options options)
      : options_(std::move(options)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        clients_(options_.connections) {
    const auto now = Clock::now();
    for (std::uint32_t i = 0; i < options_.connections; ++i) {
      Client& client = clients_[i];
      client.fd = connect_to(options_);
      client.number = i;
      client.trial = i % options_.trials + 1;
      // Evenly spread over the first period.
      client.due = now + std::chrono::microseconds(1'000'000ULL * i /
                                                   (options_.connections * options_.per_second));
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u32 = i;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &event);
    }
    begin_ = now;
  }

  void run() {
    const auto end = begin_ + std::chrono::seconds(options_.seconds);
    std::vector<epoll_event> events(1024);
    while (Clock::now() < end || in_flight_ > 0) {
      const bool is_open = Clock::now() < end;
      if (is_open) send_due();
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 1);
      for (int i = 0; i < count; ++i)
        receive(clients_[events[static_cast<std::size_t>(i)].data.u32]);
    }
    seconds_ = std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  /// By the trials' own counts.
  std::uint64_t read_back() {
    std::uint64_t points = 0;
    for (std::uint32_t trial = 1; trial <= options_.trials; ++trial) {
      const int fd = connect_to(options_);
      const std::string request =
          http_request(options_, "GET", fmt::format("/api/v1/trials/{}", trial), "");
      if (::write(fd, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
        die("cannot ask");
      std::string received;
      std::string answer;
      char buffer[1 << 16];
      while (answer.empty()) {
        const ssize_t size = ::read(fd, buffer, sizeof buffer);
        if (size <= 0) die("no answer");
        received.append(buffer, static_cast<std::size_t>(size));
        std::string copy = received;
        if (consume_answer(copy)) answer = received;
      }
      ::close(fd);
      for (std::size_t at = 0; (at = answer.find("\"count\": ", at)) != std::string::npos;
           at += 9) {
        points += std::strtoull(answer.c_str() + at + 9, nullptr, 10);
      }
    }
    return points;
  }

  int report() {
    std::ranges::sort(latencies_);
    const auto at = [&](double part) {
      return latencies_[static_cast<std::size_t>(part *
                                                 static_cast<double>(latencies_.size() - 1))];
    };
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    const std::uint64_t wanted = latencies_.size() * kMetrics;
    const std::uint64_t found = read_back();
    fmt::print("{} connections, {} reports of {} scalars in {:.1f} s: {:.0f}/s, {} late starts\n",
               options_.connections, latencies_.size(), kMetrics, seconds_,
               static_cast<double>(latencies_.size()) / seconds_, late_);
    fmt::print("latency ms: median {:.1f}, p99 {:.1f}, p99.9 {:.1f}, worst {:.1f}\n", at(0.5),
               at(0.99), at(0.999), at(1));
    fmt::print("this process: {:.1f} s of CPU\n", seconds(used.ru_utime) + seconds(used.ru_stime));
    fmt::print("points acknowledged {}, read back {}\n", wanted, found);
    return wanted == found ? 0 : 1;
  }

 private:
  void send_due() {
    const auto now = Clock::now();
    const auto period = std::chrono::microseconds(1'000'000 / options_.per_second);
    for (Client& client : clients_) {
      if (client.is_waiting || client.due > now) continue;
      const std::string request = report_of(options_, client);
      if (::send(client.fd, request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size()))
        die("cannot send");
      client.sent_at = now;
      client.is_waiting = true;
      ++client.sent;
      ++in_flight_;
      if (now - client.due > period) ++late_;
      client.due = std::max(client.due + period, now - period);
    }
  }
  void receive(Client& client) {
    char buffer[4096];
    const ssize_t size = ::recv(client.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size <= 0) die("a connection was closed");
    client.received.append(buffer, static_cast<std::size_t>(size));
    if (!consume_answer(client.received)) return;
    latencies_.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - client.sent_at).count());
    client.is_waiting = false;
    --in_flight_;
  }

  Options options_;
  int epoll_;
  std::vector<Client> clients_;
  std::vector<double> latencies_;
  Clock::time_point begin_;
  double seconds_ = 0;
  std::size_t in_flight_ = 0;
  std::uint64_t late_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) die("http_load HOST PORT TOKEN TRIALS [CONNECTIONS] [PER_SECOND] [SECONDS]");
  Options options;
  options.host = argv[1];
  options.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  options.token = argv[3];
  options.trials = static_cast<std::uint32_t>(std::atoi(argv[4]));
  if (argc > 5) options.connections = static_cast<std::uint32_t>(std::atoi(argv[5]));
  if (argc > 6) options.per_second = static_cast<std::uint32_t>(std::atoi(argv[6]));
  if (argc > 7) options.seconds = static_cast<std::uint32_t>(std::atoi(argv[7]));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  Load load(options);
  load.run();
  return load.report();
}
