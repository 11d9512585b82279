// One HTTP/1.1 connection over TCP: a request goes out, its whole answer comes back, the connection
// is kept.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace muster::core {

/// The connection broke, or what came was no HTTP. The request may be sent again over a new one.
struct ConnectionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// One thread; `interrupt` from any.
class HttpConnection {
 public:
  HttpConnection(std::string host, int port) : host_(std::move(host)), port_(port) {}
  ~HttpConnection() { drop(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  bool is_open() const { return socket_.load() >= 0; }
  /// Connects if need be. `head`: request line and headers but Host and Content-Length, each line
  /// with its end. `timeout_s`: between two signs of life. Errors: ConnectionError, and the
  /// connection is dropped.
  HttpAnswer exchange(std::string_view head, std::optional<std::string_view> body,
                      double timeout_s);
  void drop();
  /// Ends an exchange that waits, with ConnectionError, and every later one.
  void interrupt();

 private:
  void connect(double timeout_s);
  void wait(short events, double timeout_s) const;
  void send(std::string_view bytes, double timeout_s);
  /// More of what comes, into `buffer_`; false at the end.
  bool receive(double timeout_s);
  HttpAnswer answer(double timeout_s);
  std::string line(double timeout_s);
  std::string read(std::size_t size, double timeout_s);
  std::string chunks(double timeout_s);

  std::string host_;
  int port_;
  std::mutex closing_;  ///< held while `socket_` is closed or shut
  std::atomic<int> socket_{-1};
  std::atomic<bool> is_interrupted_{false};
  std::string buffer_;
};

}  // namespace muster::core
