#include "http_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

namespace muster::core {
namespace {

constexpr double kConnectTimeout = 10;
constexpr std::size_t kLineMax = 64 << 10;
constexpr std::size_t kHeadersMax = 200;
constexpr std::size_t kBodyMax = 256 << 20;

[[noreturn]] void fail(const std::string& attempt) {
  throw ConnectionError(attempt + ": " + std::strerror(errno));
}

std::size_t size_of(std::string_view text, int base, const char* what) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size, base);
  if (error != std::errc() || end == text.data() || size > kBodyMax)
    throw ConnectionError(std::string("the answer's ") + what + " is '" + std::string(text) + "'");
  return size;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// What matters of an answer's headers.
struct Head {
  int status = 0;
  std::optional<std::size_t> size;
  bool is_chunked = false;
  bool is_closing = false;
};

void read_header(const std::string& text, Head& head) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw ConnectionError("a header of the answer is '" + text + "'");
  const std::string name = lower(text.substr(0, colon));
  const std::string value = trimmed(text.substr(colon + 1));
  if (name == "content-length") head.size = size_of(value, 10, "Content-Length");
  if (name == "transfer-encoding") head.is_chunked = lower(value) == "chunked";
  if (name == "connection") head.is_closing = lower(value) == "close";
}

}  // namespace

void HttpConnection::drop() {
  const std::lock_guard<std::mutex> lock(closing_);
  const int socket = socket_.exchange(-1);
  if (socket >= 0) ::close(socket);
  buffer_.clear();
}

void HttpConnection::interrupt() {
  is_interrupted_.store(true);
  const std::lock_guard<std::mutex> lock(closing_);
  const int socket = socket_.load();
  if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
}

void HttpConnection::wait(short events, double timeout_s) const {
  if (is_interrupted_.load()) throw ConnectionError("the run ends");
  pollfd poll_entry{socket_.load(), events, 0};
  const int ready = ::poll(&poll_entry, 1, static_cast<int>(std::ceil(timeout_s * 1000)));
  if (ready == 0)
    throw ConnectionError("nothing came for " + std::to_string(static_cast<int>(timeout_s)) + " s");
  if (ready < 0 && errno != EINTR) fail("poll");
}

void HttpConnection::connect(double timeout_s) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(port_);
  if (const int error = ::getaddrinfo(host_.c_str(), port.c_str(), &hints, &found); error != 0) {
    throw ConnectionError("cannot look up " + host_ + ": " + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    const int socket =
        ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol);
    if (socket < 0) {
      error = errno;
      continue;
    }
    socket_.store(socket);
    error = ::connect(socket, one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      wait(POLLOUT, std::min(timeout_s, kConnectTimeout));
      socklen_t size = sizeof error;
      if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
    if (error == 0) {
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return;
    }
    drop();
  }
  throw ConnectionError("cannot connect to " + host_ + ":" + port + ": " + std::strerror(error));
}

void HttpConnection::send(std::string_view bytes, double timeout_s) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.load(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      wait(POLLOUT, timeout_s);
    } else if (errno != EINTR) {
      fail("send");
    }
  }
}

bool HttpConnection::receive(double timeout_s) {
  char bytes[16 << 10];
  while (true) {
    const ssize_t got = ::recv(socket_.load(), bytes, sizeof bytes, 0);
    if (got > 0) {
      buffer_.append(bytes, static_cast<std::size_t>(got));
      return true;
    }
    if (got == 0) return false;
    if (errno == EAGAIN) {
      wait(POLLIN, timeout_s);
    } else if (errno != EINTR) {
      fail("receive");
    }
  }
}

std::string HttpConnection::line(double timeout_s) {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (buffer_.size() > kLineMax) throw ConnectionError("a line of the answer is too long");
    if (!receive(timeout_s)) throw ConnectionError("the connection was closed");
  }
  std::string out = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  if (!out.empty() && out.back() == '\r') out.pop_back();
  return out;
}

std::string HttpConnection::read(std::size_t size, double timeout_s) {
  while (buffer_.size() < size) {
    if (!receive(timeout_s)) throw ConnectionError("the connection was closed within an answer");
  }
  std::string out = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return out;
}

std::string HttpConnection::chunks(double timeout_s) {
  std::string out;
  while (true) {
    const std::string head = line(timeout_s);
    const std::size_t size = size_of(head.substr(0, head.find(';')), 16, "chunk");
    if (size == 0) break;
    out += read(size, timeout_s);
    if (out.size() > kBodyMax) throw ConnectionError("the answer is too large");
    if (!line(timeout_s).empty()) throw ConnectionError("a chunk of the answer has no end");
  }
  while (!line(timeout_s).empty()) {  // trailers
  }
  return out;
}

HttpAnswer HttpConnection::answer(double timeout_s) {
  Head head;
  do {
    const std::string first = line(timeout_s);
    if (first.size() < 12 || first.compare(0, 7, "HTTP/1.") != 0)
      throw ConnectionError("what came is no HTTP: '" + first.substr(0, 80) + "'");
    head = Head();
    head.status = static_cast<int>(size_of(first.substr(9, 3), 10, "status"));
    head.is_closing = first[7] == '0';
    std::size_t count = 0;
    for (std::string text = line(timeout_s); !text.empty(); text = line(timeout_s)) {
      if (++count > kHeadersMax) throw ConnectionError("the answer has too many headers");
      read_header(text, head);
    }
  } while (head.status < 200);  // 100 Continue
  HttpAnswer out{head.status, ""};
  if (head.is_chunked) {
    out.body = chunks(timeout_s);
  } else if (head.size) {
    out.body = read(*head.size, timeout_s);
  } else if (head.status != 204 && head.status != 304) {
    while (receive(timeout_s)) {
      if (buffer_.size() > kBodyMax) throw ConnectionError("the answer is too large");
    }
    out.body.swap(buffer_);
    head.is_closing = true;
  }
  if (head.is_closing) drop();
  return out;
}

HttpAnswer HttpConnection::exchange(std::string_view head, std::optional<std::string_view> body,
                                    double timeout_s) {
  try {
    if (!is_open()) connect(timeout_s);
    std::string bytes(head);
    bytes += "Host: " + (host_.find(':') == std::string::npos ? host_ : "[" + host_ + "]") + ":" +
             std::to_string(port_) + "\r\n";
    if (body) bytes += "Content-Length: " + std::to_string(body->size()) + "\r\n";
    bytes += "\r\n";
    if (body) bytes += *body;
    send(bytes, timeout_s);
    return answer(timeout_s);
  } catch (const ConnectionError&) {
    drop();
    throw;
  }
}

}  // namespace muster::core
