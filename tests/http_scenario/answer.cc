#include "tests/http_scenario/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "text/json_reader.h"
#include "text/words.h"

namespace muster::http_scenario {
namespace {

tl::unexpected<Error> bad_answer(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

/// Cuts a line off, without its end. False: it has none.
bool cut_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = rest.find("\r\n");
  if (end == rest.npos) return false;
  line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return true;
}

Result<std::size_t> number_in(std::string_view text, int base) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size())
    return bad_answer(fmt::format("'{}' is no size", text));
  return number;
}

Result<std::string> read_chunks(std::string_view& rest) {
  std::string body;
  for (;;) {
    std::string_view line;
    if (!cut_line(rest, line)) return bad_answer("the answer breaks off");
    const std::size_t size = TRY(number_in(line, 16));
    if (rest.size() < size + 2) return bad_answer("the answer breaks off");
    body += rest.substr(0, size);
    rest.remove_prefix(size + 2);
    if (size == 0) return body;
  }
}

Result<std::string> read_sized(std::string_view& rest, std::size_t size) {
  if (rest.size() < size) return bad_answer("the answer breaks off");
  std::string body(rest.substr(0, size));
  rest.remove_prefix(size);
  return body;
}

Result<std::string> read_body(const Answer& answer, std::string_view& rest) {
  if (const std::string* coding = answer.header("transfer-encoding");
      coding != nullptr && *coding == "chunked")
    return read_chunks(rest);
  if (const std::string* length = answer.header("content-length")) {
    const std::size_t size = TRY(number_in(*length, 10));
    return read_sized(rest, size);
  }
  return read_sized(rest, rest.size());
}

}  // namespace

const std::string* Answer::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const auto& one) { return one.first == name; });
  return found == headers.end() ? nullptr : &found->second;
}

Result<Answer> parse_answer(std::string_view bytes, bool has_body, std::string& rest) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  Answer answer;
  std::string_view line;
  if (!cut_line(bytes, line) || !line.starts_with(kVersion) || line.size() < kVersion.size() + 3)
    return bad_answer("there is no answer");
  answer.status = static_cast<int>(TRY(number_in(line.substr(kVersion.size(), 3), 10)));
  for (;;) {
    if (!cut_line(bytes, line)) return bad_answer("the answer breaks off");
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return bad_answer(fmt::format("'{}' is no header", line));
    answer.headers.emplace_back(lower(line.substr(0, colon)),
                                std::string(trim(line.substr(colon + 1))));
  }
  if (has_body) answer.body = TRY(read_body(answer, bytes));
  rest = bytes;
  return answer;
}

Result<Json> json_lines(std::string_view body) {
  Json::Array lines;
  while (!body.empty()) {
    const std::size_t end = body.find('\n');
    if (end == body.npos) return bad_answer("the last line has no end");
    Json line = TRY(parse_json(body.substr(0, end)));
    lines.push_back(std::move(line));
    body.remove_prefix(end + 1);
  }
  return Json(std::move(lines));
}

}  // namespace muster::http_scenario
