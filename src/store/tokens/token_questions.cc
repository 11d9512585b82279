#include "store/tokens/token_questions.h"

#include <utility>

namespace muster {
namespace {

struct Answerer {
  TokenStore& store;

  Result<TokenAnswer> operator()(const IssueToken& asked) const {
    return TRY(store.issue(asked.owner, asked.kind, asked.expiry, asked.now));
  }
  Result<TokenAnswer> operator()(const IssueSession& asked) const {
    return store.session(asked.owner, asked.expiry, asked.now);
  }
  Result<TokenAnswer> operator()(const IssuePassword& asked) const {
    return TRY(store.issue_once(asked.owner, asked.now));
  }
  Result<TokenAnswer> operator()(const CheckToken& asked) const {
    TRY(store.check(asked.claims));
    return TokenChangeDone{};
  }
  Result<TokenAnswer> operator()(const RevokeToken& asked) const {
    const auto record = store.find(asked.id);
    // Of another's token the same answer as of none.
    const bool is_seen = record && (!asked.owner || record->owner.user == *asked.owner);
    TRY(store.revoke(is_seen ? asked.id : 0));
    return *store.find(asked.id);
  }
  Result<TokenAnswer> operator()(const RevokeAllTokens& asked) const {
    TRY(store.revoke_all(asked.user, asked.now));
    return TokenChangeDone{};
  }
  Result<TokenAnswer> operator()(const ListTokens& asked) const { return store.list(asked.now); }
  Result<TokenAnswer> operator()(const LogIn& asked) const {
    if (auto owner = store.log_in(asked.name, asked.password, asked.is_on_this_machine, asked.now))
      return std::move(*owner);
    return fail(ErrorCode::kPermissionDenied, "invalid credentials",
                "the password is a token of muster token, or one for once of muster token --once");
  }
};

}  // namespace

Result<TokenAnswer> answer(TokenStore& store, const TokenQuestion& question) {
  return std::visit(Answerer{store}, question);
}

}  // namespace muster
