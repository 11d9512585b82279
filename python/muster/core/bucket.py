"""A bucket of an S3-compatible store: objects by their keys, through boto3. Knows nothing of checkpoints.

boto3 is imported when a bucket is opened, and not before: who keeps checkpoints in folders needs none.
"""
from __future__ import annotations

import logging
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, TypeVar

from muster.core.errors import StorageError
from muster.core.storage_settings import S3Settings

REQUESTS_AT_ONCE = 10       # of one process
ATTEMPTS = 5                # of each request, boto3's
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 60
PART_BYTES = 16 << 20       # larger files travel in parts of this size, very large ones in larger parts
_NOT_THERE = ("404", "NoSuchKey", "NotFound")

_OF_KEYS = ("check access_key and secret_key of checkpoint_storage, or else AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "and that they are of this store")
_ADVICE = {
    "InvalidAccessKeyId": _OF_KEYS, "SignatureDoesNotMatch": _OF_KEYS, "InvalidToken": _OF_KEYS, "ExpiredToken": _OF_KEYS,
    "AccessDenied": "its keys need the rights to list the bucket and to get, put and delete objects in it",
    "403": _OF_KEYS + "; they need the rights to list the bucket and to get, put and delete objects in it",
    "NoSuchBucket": "make the bucket, or correct its name",
    "PermanentRedirect": "it lies in another region; set AWS_DEFAULT_REGION",
    "AuthorizationHeaderMalformed": "it lies in another region; set AWS_DEFAULT_REGION",
    "NoCredentialsError": "there are no keys: give access_key and secret_key in checkpoint_storage, or set AWS_ACCESS_KEY_ID "
                          "and AWS_SECRET_ACCESS_KEY",
    "EndpointConnectionError": "nobody answers there; check endpoint_url", "ConnectTimeoutError": "check endpoint_url",
}

_PARTS_STAY = ("its parts stay until a lifecycle rule of the bucket (AbortIncompleteMultipartUpload) removes them; keys with the rights "
               "s3:ListBucketMultipartUploads and s3:AbortMultipartUpload let the next such upload be aborted")

_log = logging.getLogger("muster")
T, R = TypeVar("T"), TypeVar("R")


class Bucket:
    """Any rank, one thread. Every call ends: requests are repeated ATTEMPTS times.

    Errors of every call: StorageError, which names the place and the way out. Random numbers of the training are not drawn.
    """

    def __init__(self, settings: S3Settings) -> None:
        """Connects to nothing. Errors: ImportError that says how to get boto3."""
        self.location = settings.location
        self._name = settings.bucket
        self._client, self._errors, self._transfer = _opened(settings)

    def check(self) -> None:
        """Whether it is there and lets itself be listed."""
        with self._attempt("list"):
            self._client.list_objects_v2(Bucket=self._name, MaxKeys=1)

    def sizes(self, prefix: str) -> Dict[str, int]:
        """Bytes by key, in the order of keys. Cost: one request for 1000 of them."""
        with self._attempt("list"):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._name, Prefix=prefix)
            return {entry["Key"]: entry["Size"] for page in pages for entry in page.get("Contents", ())}

    def is_empty(self, prefix: str) -> bool:
        with self._attempt("list"):
            return not self._client.list_objects_v2(Bucket=self._name, Prefix=prefix, MaxKeys=1).get("Contents")

    def exists(self, key: str) -> bool:
        with self._attempt("look for"):
            try:
                self._client.head_object(Bucket=self._name, Key=key)
            except self._errors.ClientError as error:
                if _code(error) in _NOT_THERE:
                    return False
                raise
        return True

    def read(self, key: str) -> Optional[bytes]:
        """None: it is not there."""
        with self._attempt("read"):
            try:
                content: bytes = self._client.get_object(Bucket=self._name, Key=key)["Body"].read()
            except self._errors.ClientError as error:
                if _code(error) in _NOT_THERE:
                    return None
                raise
        return content

    def write(self, key: str, content: bytes) -> None:
        with self._attempt("write"):
            self._client.put_object(Bucket=self._name, Key=key, Body=content)

    def upload(self, files: Mapping[str, Path]) -> None:
        """Files by the keys they get. On return all are there; after an error some may be."""
        self._transferred("write", files,
                          lambda manager, key, path: manager.upload(path, self._name, key))

    def download(self, files: Mapping[str, Path]) -> None:
        """Each file is replaced whole. Requires: their folders are there."""
        self._transferred("read", files, lambda manager, key, path: manager.download(self._name, key, path))

    def _transferred(self, attempt: str, files: Mapping[str, Path], begin: Callable[[Any, str, str], Any]) -> None:
        config = self._transfer.TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES,
                                               max_request_concurrency=REQUESTS_AT_ONCE)
        with self._attempt(attempt), self._transfer.TransferManager(self._client, config) as manager:
            for transfer in [begin(manager, key, str(path)) for key, path in files.items()]:
                transfer.result()  # an error of one cancels the others as the manager is left

    def delete(self, keys: Iterable[str]) -> None:
        """One request each: not every store can delete many at once. Absent ones are no error."""
        with self._attempt("delete"):
            at_once(lambda key: self._client.delete_object(Bucket=self._name, Key=key), list(keys))

    def abort_uploads(self, prefix: str) -> None:
        """Frees what parts a killed process left behind. Those that our keys, or the store, do not let us free stay, and the log says so."""
        with self._attempt("abort uploads of"):
            try:
                found = self._client.list_multipart_uploads(Bucket=self._name, Prefix=prefix).get("Uploads", ())
            except self._errors.ClientError as error:
                if _may_pass(error):
                    raise
                _log.info("unfinished uploads to %s cannot be listed: %s; %s", self.location, error, _PARTS_STAY)
                return
            at_once(lambda each: self._abort_upload(each["Key"], each["UploadId"]), found)

    def _abort_upload(self, key: str, upload: str) -> None:
        try:
            self._client.abort_multipart_upload(Bucket=self._name, Key=key, UploadId=upload)
        except self._errors.ClientError as error:
            if _may_pass(error):
                raise
            if _status(error) != 404:  # else a rule of the bucket, or somebody else, was first
                _log.warning("an unfinished upload of %s in %s cannot be aborted: %s; %s", key, self.location, error, _PARTS_STAY)

    @contextmanager
    def _attempt(self, what: str) -> Iterator[None]:
        """Makes boto3's errors ours."""
        try:
            with _drawn_numbers_given_back():
                yield
        except (self._errors.ClientError, self._errors.BotoCoreError, self._errors.HTTPClientError, OSError) as error:
            advice = _ADVICE.get(_code(error) or type(error).__name__)
            raise StorageError(f"cannot {what} objects in {self.location}: {error}" + (f"; {advice}" if advice else "")) \
                from error


def at_once(work: Callable[[T], R], items: Sequence[T]) -> List[R]:
    """The answers in the order of items, REQUESTS_AT_ONCE at a time; the first error is raised when all have ended."""
    if len(items) < 2:
        return [work(item) for item in items]
    with _drawn_numbers_given_back(), ThreadPoolExecutor(min(REQUESTS_AT_ONCE, len(items)), "muster-s3") as threads:
        return list(threads.map(work, items))


@contextmanager
def _drawn_numbers_given_back() -> Iterator[None]:
    """boto3's pauses and names of temporary files draw from the generator that the training uses, too."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


def _code(error: BaseException) -> str:
    """The store's word for what is wrong; "" when it said none."""
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def _status(error: BaseException) -> int:
    """Of the store's answer, by HTTP; 0: there was none."""
    response = getattr(error, "response", None) or {}
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _may_pass(error: BaseException) -> bool:
    """The store may answer otherwise later: it is overloaded or out of order, and refuses nothing."""
    status = _status(error)
    return status in (0, 429) or (status >= 500 and status != 501)


def _opened(settings: S3Settings) -> "tuple[Any, Any, Any]":
    """A client, botocore's exceptions and the module that moves files."""
    try:
        # pylint: disable=import-outside-toplevel
        import boto3
        import botocore.config
        import botocore.exceptions
        import s3transfer.manager
    except ImportError as error:
        raise ImportError(f"checkpoints in {settings.location} need boto3: pip install 'muster[s3]' ({error})") from error
    options: Dict[str, Any] = {
        "connect_timeout": CONNECT_TIMEOUT_S, "read_timeout": READ_TIMEOUT_S, "max_pool_connections": REQUESTS_AT_ONCE,
        "retries": {"mode": "standard", "total_max_attempts": ATTEMPTS}}
    if settings.endpoint_url:  # stores other than Amazon's may not know its newer checksums
        options.update(request_checksum_calculation="when_required", response_checksum_validation="when_required")
    try:
        config = botocore.config.Config(**options)
    except TypeError:  # an older one, which sends none
        config = botocore.config.Config(**{name: value for name, value in options.items() if "checksum" not in name})
    try:
        with _drawn_numbers_given_back():
            client = boto3.session.Session().client(
                "s3", endpoint_url=settings.endpoint_url, aws_access_key_id=settings.access_key,
                aws_secret_access_key=settings.secret_key, config=config)
    except (botocore.exceptions.BotoCoreError, ValueError) as error:
        raise StorageError(f"cannot open {settings.location}: {error}") from error
    return client, botocore.exceptions, s3transfer.manager
