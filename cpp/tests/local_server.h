// A server on this machine that answers each request with the bytes it was given: what a
// controller, or something between, may send.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace muster::core {

/// "close" breaks the connection without an answer; "hang" never answers; bytes that end in "\f"
/// are sent and the connection broken.
class LocalServer {
 public:
  explicit LocalServer(std::deque<std::string> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 8) != 0)
      ::abort();
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~LocalServer() {
    ::shutdown(listener_, SHUT_RDWR);
    ::shutdown(open_.load(), SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  int port() const { return port_; }
  int connections() const { return connections_.load(); }
  std::vector<std::string> requests() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

 private:
  void run() {
    int socket = -1;
    while ((socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0) {
      connections_.fetch_add(1);
      open_.store(socket);
      while (serve(socket)) {
      }
      ::close(socket);
    }
  }

  /// One request and its answer; false when the connection is to end.
  bool serve(int socket) {
    std::string text;
    std::size_t whole = std::string::npos;
    while (text.size() < whole) {
      char bytes[4096];
      const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
      if (got <= 0) return false;
      text.append(bytes, static_cast<std::size_t>(got));
      const std::size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const std::size_t length = text.find("Content-Length: ");
      whole = head + 4 + (length < head ? std::stoul(text.substr(length + 16)) : 0);
    }
    std::string answer = "close";
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      requests_.push_back(text);
      if (!answers_.empty()) {
        answer = answers_.front();
        answers_.pop_front();
      }
    }
    if (answer == "close") return false;
    if (answer == "hang") {
      char byte = 0;
      ::recv(socket, &byte, 1, 0);
      return false;
    }
    const bool is_last = answer.back() == '\f';
    if (is_last) answer.pop_back();
    for (const char byte : answer) {  // the worst that a network may do to an answer
      if (::send(socket, &byte, 1, MSG_NOSIGNAL) != 1) return false;
    }
    return !is_last;
  }

  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> open_{-1};
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::deque<std::string> answers_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

inline std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace muster::core
