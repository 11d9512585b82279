// The file is a list of lines, each a JSON object: a token that was made, one that was revoked, all
// of a user's up to a time, and the highest number. A start reads them, drops what has expired and
// writes the rest anew; later changes are appended and synced, one by one.
#include "store/tokens/token_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "env/posix/read_whole.h"
#include "env/posix/write_whole.h"
#include "env/write_error.h"
#include "text/json_reader.h"
#include "text/json_text.h"

namespace muster {
namespace {

constexpr std::size_t kOnceMax = 16;  ///< of one owner
/// Without letters and digits that are taken for one another.
constexpr std::string_view kOnceLetters = "abcdefghjkmnpqrstuvwxyz23456789";
constexpr std::size_t kOnceSize = 20;

// Absent or of another type: 0, which names nothing.
std::int64_t whole(const Json& line, std::string_view name) {
  const Json* value = line.find(name);
  return value != nullptr && value->whole() != nullptr ? *value->whole() : 0;
}

std::string line_of(const TokenRecord& record) {
  return json_text(Json::Object{{"id", static_cast<std::int64_t>(record.id)},
                                {"kind", record.kind == TokenKind::kLogin ? "login" : "made"},
                                {"uid", record.owner.user.value()},
                                {"gid", record.owner.group.value()},
                                {"name", record.owner.name},
                                {"made_us", record.made.microseconds()},
                                {"expiry_us", record.expiry.microseconds()}});
}

std::string revoked_line(std::uint64_t id) {
  return json_text(Json::Object{{"revoked", static_cast<std::int64_t>(id)}});
}

std::string void_line(UserId user, TimePoint before) {
  return json_text(Json::Object{{"void", user.value()}, {"before_us", before.microseconds()}});
}

TokenRecord record_of(const Json& line) {
  TokenRecord record;
  record.id = static_cast<std::uint64_t>(whole(line, "id"));
  const Json* kind = line.find("kind");
  record.kind = kind != nullptr && kind->text() != nullptr && *kind->text() == "login"
                    ? TokenKind::kLogin
                    : TokenKind::kMade;
  record.owner.user = UserId(static_cast<std::uint32_t>(whole(line, "uid")));
  record.owner.group = GroupId(static_cast<std::uint32_t>(whole(line, "gid")));
  if (const Json* name = line.find("name"); name != nullptr && name->text() != nullptr)
    record.owner.name = *name->text();
  record.made = TimePoint::from_microseconds(whole(line, "made_us"));
  record.expiry = TimePoint::from_microseconds(whole(line, "expiry_us"));
  return record;
}

/// True for each kind of line that there is.
bool is_known(const Json& line) {
  return std::ranges::any_of(std::array{"last", "void", "revoked", "id"}, [&](const char* name) {
    const Json* value = line.find(name);
    return value != nullptr && value->whole() != nullptr && *value->whole() >= 0;
  });
}

/// The file's lines; none: there is no file. One that is there has one from its beginning on. A
/// last one without an end was cut off by a crash before anybody was told of it.
Result<std::vector<Json>> whole_lines(const std::string& path) {
  std::vector<Json> lines;
  const std::optional<std::string> text = TRY(read_whole(path));
  if (!text.has_value()) return lines;
  const auto damage = fail(ErrorCode::kCorruption, path + " is damaged",
                           "put it aside: people make new tokens then");
  for (std::size_t begin = 0, end = 0; (end = text->find('\n', begin)) != text->npos;
       begin = end + 1) {
    auto line = parse_json(text->substr(begin, end - begin));
    // Any line, also one in the middle: revocations may be among what is lost.
    if (!line.has_value() || !is_known(*line)) return damage;
    lines.push_back(std::move(*line));
  }
  if (lines.empty()) return damage;
  return lines;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

TokenStore::~TokenStore() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<TokenStore>> TokenStore::open(const std::string& path, std::string key,
                                                     TimePoint now) {
  std::unique_ptr<TokenStore> store(new TokenStore(-1, path, std::move(key)));
  const std::vector<Json> lines = TRY(whole_lines(path));
  for (const Json& line : lines) store->apply(line);
  // An expired token is refused by its own text; nobody has to know it any more.
  std::erase_if(store->records_, [now](const auto& row) { return row.second.expiry <= now; });
  std::erase_if(store->by_password_,
                [&](const auto& row) { return !store->records_.contains(row.second); });
  std::string text =
      json_text(Json::Object{{"last", static_cast<std::int64_t>(store->last_)}}) + "\n";
  // Before the records, whose own lines say which are revoked.
  for (const auto& [user, before] : store->void_before_) text += void_line(user, before) + "\n";
  for (const auto& [id, record] : store->records_) {
    text += line_of(record) + "\n";
    if (record.is_revoked) text += revoked_line(id) + "\n";
  }
  // A new file that takes the place of the old one: a crash leaves one of them whole.
  const std::string fresh = path + ".new";
  store->fd_ = ::open(fresh.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_APPEND, 0600);
  if (store->fd_ < 0) return fail(write_error(path));
  if (const int error = write_whole(store->fd_, text); error != 0)
    return fail(write_error(path, error));
  if (::fsync(store->fd_) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0)
    return fail(write_error(path));
  // The rename is durable with its folder.
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_kept = folder >= 0 && ::fsync(folder) == 0;
  if (folder >= 0) ::close(folder);
  if (!is_kept) return fail(write_error(path));
  return store;
}

Status TokenStore::check(const std::string& path) {
  TRY(whole_lines(path));
  return {};
}

void TokenStore::apply(const Json& line) {
  if (line.find("last") != nullptr) {
    last_ = std::max(last_, static_cast<std::uint64_t>(whole(line, "last")));
  } else if (line.find("void") != nullptr) {
    const UserId user(static_cast<std::uint32_t>(whole(line, "void")));
    void_before_[user] =
        std::max(void_before_[user], TimePoint::from_microseconds(whole(line, "before_us")));
    for (auto& [id, record] : records_) {
      // Of before, and at that very time.
      if (record.owner.user != user || record.made > void_before_[user]) continue;
      record.is_revoked = true;
      forget_password(record);
    }
  } else if (line.find("revoked") != nullptr) {
    const auto found = records_.find(static_cast<std::uint64_t>(whole(line, "revoked")));
    if (found == records_.end()) return;
    found->second.is_revoked = true;
    forget_password(found->second);
  } else {
    // A line of any other kind is a token's.
    apply(record_of(line));
  }
}

void TokenStore::apply(TokenRecord record) {
  last_ = std::max(last_, record.id);
  // By the hash that clients send in place of a password.
  if (record.kind == TokenKind::kMade)
    by_password_[client_password_hash(text_of(record))] = record.id;
  records_[record.id] = std::move(record);
}

void TokenStore::forget_password(const TokenRecord& record) {
  by_password_.erase(client_password_hash(text_of(record)));
}

/// A torn line is cut away again: what follows it would be lost with it.
Status TokenStore::append(const std::string& line) {
  const off_t end = ::lseek(fd_, 0, SEEK_END);
  if (end < 0) return fail(write_error(path_));
  int error = write_whole(fd_, line + "\n");
  // Before the change counts: a revocation that is told must hold after a crash.
  if (error == 0 && ::fdatasync(fd_) != 0) error = errno;
  if (error == 0) {
    apply(parse_json(line).value());
    return {};
  }
  [[maybe_unused]] const int ignored = ::ftruncate(fd_, end);
  return fail(write_error(path_, error));
}

std::string TokenStore::text_of(const TokenRecord& record) const {
  TokenClaims claims;
  claims.user = record.owner.user;
  claims.group = record.owner.group;
  claims.user_name = record.owner.name;
  claims.id = record.id;
  claims.made = record.made;
  claims.expiry = record.expiry;
  return token_text(claims, key_);
}

std::string TokenStore::session(const TokenOwner& owner, TimePoint expiry, TimePoint now) const {
  TokenRecord record;
  record.owner = owner;
  record.made = now;
  // Whole seconds, as the token's text has them.
  record.expiry = TimePoint::from_seconds(expiry.seconds());
  return text_of(record);
}

/// An owner's live tokens are bounded: the oldest that logging in made goes first, then the oldest
/// of all.
Status TokenStore::make_room(UserId user, TimePoint now) {
  std::vector<const TokenRecord*> live;
  for (const auto& [id, record] : records_) {
    if (record.owner.user == user && !record.is_revoked && record.expiry > now)
      live.push_back(&record);
  }
  if (live.size() < kOwnerMax) return {};
  const auto oldest = std::ranges::find(live, TokenKind::kLogin,
                                        [](const TokenRecord* record) { return record->kind; });
  return revoke((oldest == live.end() ? live.front() : *oldest)->id);
}

Result<std::string> TokenStore::issue(const TokenOwner& owner, TokenKind kind, TimePoint expiry,
                                      TimePoint now) {
  expiry = TimePoint::from_seconds(expiry.seconds());
  for (const auto& [id, record] : records_) {
    const bool is_same = kind == TokenKind::kMade && record.kind == kind && record.owner == owner &&
                         record.expiry == expiry && !record.is_revoked;
    // The same again, for a script that asks each time.
    if (is_same) return text_of(record);
  }
  TRY(make_room(owner.user, now));
  TokenRecord record;
  record.id = last_ + 1;
  record.kind = kind;
  record.owner = owner;
  // What was made void a moment ago must not void this one, whatever the clock did.
  const auto before = void_before_.find(owner.user);
  record.made = before == void_before_.end()
                    ? now
                    : std::max(now, before->second + Duration::microseconds(1));
  record.expiry = expiry;
  TRY(append(line_of(record)));
  return text_of(record);
}

// The signature was checked by whoever read the claims.
Status TokenStore::check(const TokenClaims& claims) const {
  // Versions before this store made tokens without a time.
  if (!claims.made.is_set())
    return fail(ErrorCode::kPermissionDenied, "invalid token",
                "an older version made it: make another with muster token");
  const auto before = void_before_.find(claims.user);
  const bool is_void = before != void_before_.end() && claims.made <= before->second;
  const auto found = records_.find(claims.id);
  // Not by its number alone: where the list was lost, or came back from a copy, numbers are given
  // again.
  const bool is_listed = found != records_.end() && found->second.made == claims.made &&
                         found->second.owner.user == claims.user && !found->second.is_revoked;
  // Id 0: a session's, in no list, which only revoke_all ends.
  const bool is_gone = claims.id != 0 && !is_listed;
  if (!is_void && !is_gone) return {};
  return fail(ErrorCode::kPermissionDenied, "invalid token",
              "it was revoked: make another with muster token, or log in again");
}

Status TokenStore::revoke(std::uint64_t id) {
  const auto found = records_.find(id);
  if (found == records_.end())
    return fail(ErrorCode::kNotFound, fmt::format("there is no token {}", id),
                "see muster token list");
  return found->second.is_revoked ? Status() : append(revoked_line(id));
}

Status TokenStore::revoke_all(UserId user, TimePoint now) {
  // Passwords for once as well.
  std::erase_if(once_, [user](const auto& row) { return row.second.owner.user == user; });
  return append(void_line(user, now));
}

std::vector<TokenRecord> TokenStore::list(TimePoint now) const {
  std::vector<TokenRecord> all;
  for (const auto& [id, record] : records_) {
    if (record.expiry > now) all.push_back(record);
  }
  return all;
}

std::optional<TokenRecord> TokenStore::find(std::uint64_t id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::string> TokenStore::issue_once(const TokenOwner& owner, TimePoint now) {
  std::erase_if(once_, [now](const auto& row) { return row.second.expiry <= now; });
  const auto count = std::ranges::count_if(
      once_, [&](const auto& row) { return row.second.owner.user == owner.user; });
  if (static_cast<std::size_t>(count) >= kOnceMax) {
    return fail(ErrorCode::kResourceExhausted,
                fmt::format("{} passwords for once are unused", kOnceMax),
                "use one, or wait: they last for ten minutes");
  }
  // More bytes than letters, because some are passed over.
  std::array<unsigned char, 4 * kOnceSize> drawn{};
  std::string password;
  while (password.size() < kOnceSize) {
    if (::getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size()))
      return fail(ErrorCode::kUnavailable, "no random numbers", "");
    for (const unsigned char byte : drawn) {
      // Those beyond the last whole round would favour the first letters.
      const bool is_even = byte < 256 / kOnceLetters.size() * kOnceLetters.size();
      if (is_even && password.size() < kOnceSize)
        password += kOnceLetters[byte % kOnceLetters.size()];
    }
  }
  // By its hash: the password itself is kept nowhere.
  once_[client_password_hash(password)] = Once{owner, now + kOnceLife};
  return password;
}

std::optional<TokenOwner> TokenStore::log_in(const std::string& name, const std::string& password,
                                             bool is_on_this_machine, TimePoint now) {
  // Both ways for every name: neither which names there are nor how a password was sent shows in
  // the time.
  const std::string hashed = client_password_hash(password);
  std::optional<TokenOwner> owner;
  for (const std::string& key : {password, hashed}) {
    if (const auto found = by_password_.find(key); found != by_password_.end()) {
      const TokenRecord& record = records_.at(found->second);
      if (record.expiry > now && record.owner.name == name) owner = record.owner;
    }
    // Used up by this.
    if (const auto found = once_.find(key); found != once_.end()) {
      const bool is_good =
          found->second.expiry > now && found->second.owner.name == name && is_on_this_machine;
      if (is_good) owner = found->second.owner;
      if (is_good) once_.erase(found);
    }
  }
  return owner;
}

}  // namespace muster
