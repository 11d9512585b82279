#include "records/batch_codec.h"

#include "records/bytes.h"
#include "records/event_records.h"

namespace muster::records {

std::string encode_batch(const EventBatch& batch) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::EventBatch>();
  root.setSeq(batch.seq.value());
  root.setEpoch(batch.epoch.value());
  auto events = root.initEvents(static_cast<unsigned>(batch.events.size()));
  for (unsigned i = 0; i < batch.events.size(); ++i) write(events[i], batch.events[i]);
  auto blobs = root.initBlobs(static_cast<unsigned>(batch.blobs.size()));
  for (unsigned i = 0; i < batch.blobs.size(); ++i) {
    const std::string& digest = batch.blobs[i].digest;
    blobs[i].setId(batch.blobs[i].id.value());
    blobs[i].setDigest(
        kj::arrayPtr(reinterpret_cast<const kj::byte*>(digest.data()), digest.size()));
    blobs[i].setSize(batch.blobs[i].size);
  }
  return message_bytes(message);
}

Result<EventBatch> decode_batch(std::string_view bytes) {
  EventBatch batch;
  TRY(with_message<schema::EventBatch>(bytes, [&](schema::EventBatch::Reader root) {
    batch.seq = Seq(root.getSeq());
    batch.epoch = Epoch(root.getEpoch());
    batch.events.reserve(root.getEvents().size());
    for (const auto event : root.getEvents()) read(event, batch.events.emplace_back());
    for (const auto blob : root.getBlobs()) {
      const auto digest = blob.getDigest();
      batch.blobs.push_back(
          BlobWrite{BlobId(blob.getId()),
                    std::string(reinterpret_cast<const char*>(digest.begin()), digest.size()),
                    blob.getSize(), nullptr});
    }
  }));
  return batch;
}

}  // namespace muster::records
