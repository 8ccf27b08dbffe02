package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
)

// Bounds of a call.
const (
	connectFor = 5 * time.Second
	answerFor  = 30 * time.Second // from the last byte sent to the answer's header
	attempts   = 2
)

// Names of an object's metadata.
const (
	metaTask = "Task"
	metaSum  = "Sha256"
)

// bucket is the form for object stores.
type bucket struct {
	client *minio.Client
	at     Address
}

func openBucket(a Address, keys Keys, secure func(ctx context.Context, network, address string) (net.Conn, error)) (*bucket, error) {
	client, err := minio.New(a.Endpoint, &minio.Options{
		Creds: keys.provider(), Secure: !a.Insecure, Region: a.Region, MaxRetries: attempts,
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: connectFor}).DialContext, DialTLSContext: secure, TLSHandshakeTimeout: connectFor,
			ResponseHeaderTimeout: answerFor,
			MaxIdleConnsPerHost:   8, IdleConnTimeout: time.Minute, DisableCompression: true, ForceAttemptHTTP2: true,
		},
	})
	if err != nil {
		return nil, err
	}
	return &bucket{client, a}, nil
}

// Put implements [Store].
func (b *bucket) Put(ctx context.Context, key string, o *Object) error {
	sum := sha256.Sum256(o.Body)
	meta := map[string]string{metaSum: hex.EncodeToString(sum[:])}
	if o.Task != "" {
		meta[metaTask] = o.Task
	}
	_, err := b.client.PutObject(ctx, b.at.Bucket, b.at.Prefix+key, bytes.NewReader(o.Body), int64(len(o.Body)), minio.PutObjectOptions{
		ContentType: o.Type, UserMetadata: meta, SendContentMd5: true, DisableMultipart: true,
	})
	return withoutText(err)
}

// Get implements [Store].
func (b *bucket) Get(ctx context.Context, key string) (*Kept, error) {
	object, err := b.client.GetObject(ctx, b.at.Bucket, b.at.Prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, withoutText(err)
	}
	about, err := object.Stat()
	if err != nil {
		_ = object.Close()
		return nil, withoutText(err)
	}
	return &Kept{
		ReadSeekCloser: object, Size: about.Size, Type: about.ContentType, Modified: about.LastModified,
		Task: about.UserMetadata[metaTask], SHA256: about.UserMetadata[metaSum],
	}, nil
}

// List implements [Store].
func (b *bucket) List(ctx context.Context, prefix, after string, most int) (keys []string, err error) {
	options := minio.ListObjectsOptions{Prefix: b.at.Prefix + prefix, Recursive: true, MaxKeys: min(most, 1000), FetchOwner: new(bool)}
	if after != "" {
		options.StartAfter = b.at.Prefix + after
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	for object := range b.client.ListObjectsIter(ctx, b.at.Bucket, options) {
		if object.Err != nil {
			return nil, withoutText(object.Err)
		}
		if keys = append(keys, object.Key[len(b.at.Prefix):]); len(keys) == most {
			break
		}
	}
	return keys, nil
}

// Delete implements [Store].
func (b *bucket) Delete(ctx context.Context, keys []string) (err error) {
	objects := make(chan minio.ObjectInfo, len(keys))
	for _, key := range keys {
		objects <- minio.ObjectInfo{Key: b.at.Prefix + key}
	}
	close(objects)
	for failed := range b.client.RemoveObjects(ctx, b.at.Bucket, objects, minio.RemoveObjectsOptions{}) {
		if e := withoutText(failed.Err); err == nil && !errors.Is(e, ErrAbsent) {
			err = e
		}
	}
	return err
}

// Sign implements [Store].
func (b *bucket) Sign(ctx context.Context, key string, valid time.Duration) (string, error) {
	u, err := b.client.PresignedGetObject(ctx, b.at.Bucket, b.at.Prefix+key, valid, nil)
	if err != nil {
		return "", withoutText(err)
	}
	return u.String(), nil
}

// withoutText returns an error of the library. For an answer of the store it has only the status and the code, because the text may have a
// key's id.
func withoutText(err error) error {
	if err == nil {
		return nil
	}
	switch answer := minio.ToErrorResponse(err); {
	case answer.Code == minio.NoSuchKey:
		return ErrAbsent
	case answer.StatusCode != 0:
		return fmt.Errorf("the store answered %d %s", answer.StatusCode, answer.Code)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err // the wrapping quotes the address
	}
	return err
}
