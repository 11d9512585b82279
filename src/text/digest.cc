// The functions by name: those of EVP look the algorithm up at each call, which takes longer than
// hashing a short script.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "text/digest.h"

#include <openssl/sha.h>

namespace muster {

std::string sha256(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context);
  return digest;
}

}  // namespace muster
