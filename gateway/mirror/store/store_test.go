package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/mirror/store"
	"sluice/gateway/mirror/store/storetest"
)

// forms runs a test with both forms of a store.
func forms(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Run("folder", func(t *testing.T) { test(t, storetest.Open(t, "file://"+t.TempDir()+"/below/it")) })
	t.Run("bucket", func(t *testing.T) { test(t, storetest.New(t).Open()) })
}

func put(t *testing.T, s store.Store, key string, body []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, &store.Object{Body: body, Type: "image/png", Task: "t1"}); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}

func has(t *testing.T, s store.Store, key string, body []byte) {
	t.Helper()
	kept, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	defer func() { _ = kept.Close() }()
	got, err := io.ReadAll(kept)
	sum := sha256.Sum256(body)
	if err != nil || !bytes.Equal(got, body) || kept.Size != int64(len(body)) || kept.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%s: %d bytes of %d, %+v, %v", key, len(got), len(body), kept, err)
	}
	if kept.Type != "image/png" || kept.Task != "t1" || time.Since(kept.Modified).Abs() > time.Hour {
		t.Errorf("%s: %+v", key, kept)
	}
	if at, err := kept.Seek(int64(len(body)/2), io.SeekStart); err != nil || at != int64(len(body)/2) {
		t.Errorf("%s: %d, %v", key, at, err)
	}
	if half, err := io.ReadAll(kept); err != nil || !bytes.Equal(half, body[len(body)/2:]) {
		t.Errorf("%s: %d bytes of the second half, %v", key, len(half), err)
	}
}

// What is put is there, with its bytes and metadata, and replaces what was there.
func TestWhatIsPutIsThere(t *testing.T) {
	forms(t, func(t *testing.T, s store.Store) {
		for n, size := range []int{1, 64 << 10, 20 << 20} {
			key, body := fmt.Sprintf("search/2026/11/26/t-%d/1.png", n), bytes.Repeat([]byte("p"), size)
			put(t, s, key, []byte("before"))
			put(t, s, key, body)
			has(t, s, key, body)
		}
		for _, key := range []string{"search/2026/11/26/t-0/2.png", "search/2026/11/26/t-0", "search", "none/1.png"} {
			if _, err := s.Get(t.Context(), key); !errors.Is(err, store.ErrAbsent) {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}

// Keys are listed in the order of their bytes, from any key on.
func TestKeysAreListedInOrder(t *testing.T) {
	forms(t, func(t *testing.T, s store.Store) {
		keys := []string{"a-b/1", "a/2026/1.png", "a/2026/10.png", "a/2027/x-y/1.png", "a/2027/x/1.png", "a/tasks/t.1", "ab/1"}
		for _, key := range []int{3, 0, 6, 1, 5, 2, 4} {
			put(t, s, keys[key], []byte("p"))
		}
		for prefix, want := range map[string][]string{
			"": keys, "a/": keys[1:6], "a/2026/": keys[1:3], "a/2026/1.": keys[1:2], "a": keys, "a/2027/x/": keys[4:5], "b/": nil, "a/2028/": nil,
		} {
			if prefix == "a" { // all begin with it
				want = keys
			}
			for from := range len(want) + 1 {
				after := ""
				if from > 0 {
					after = want[from-1]
				}
				got, err := s.List(t.Context(), prefix, after, 3)
				if rest := want[from:]; err != nil || !slices.Equal(got, rest[:min(3, len(rest))]) {
					t.Errorf("%q behind %q: %q, want of %q, %v", prefix, after, got, rest, err)
				}
			}
		}
	})
}

// Many objects are removed together, and those that are gone are no failure.
func TestManyAreRemoved(t *testing.T) {
	forms(t, func(t *testing.T, s store.Store) {
		var keys []string
		for n := range 120 {
			keys = append(keys, fmt.Sprintf("search/2026/11/%02d/t%03d/1.png", n%3+1, n))
			put(t, s, keys[n], []byte("p"))
		}
		for range 2 {
			if err := s.Delete(t.Context(), append(slices.Clone(keys[:100]), "search/none/1.png")); err != nil {
				t.Fatal(err)
			}
		}
		left, err := s.List(t.Context(), "", "", 1000)
		want := slices.Clone(keys[100:])
		slices.Sort(want)
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("%q, %v", left, err)
		}
		put(t, s, keys[0], []byte("again"))
		has(t, s, keys[0], []byte("again"))
	})
}

// An address that is signed has the bytes for anybody, and nothing else.
func TestSignedAddresses(t *testing.T) {
	forms(t, func(t *testing.T, s store.Store) {
		put(t, s, "search/2026/11/26/t~1/1.png", []byte("picture"))
		address, err := s.Sign(t.Context(), "search/2026/11/26/t~1/1.png", time.Minute)
		if errors.Is(err, store.ErrUnsigned) && strings.Contains(t.Name(), "folder") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for of, want := range map[string]int{address: http.StatusOK, strings.Replace(address, "1.png", "2.png", 1): http.StatusForbidden,
			strings.SplitN(address, "?", 2)[0]: http.StatusForbidden} {
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, of, nil)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode != want || (want == http.StatusOK) != (string(body) == "picture") {
				t.Errorf("%d, %q; want %d", answer.StatusCode, body, want)
			}
		}
		if strings.Contains(address, storetest.Keys.Secret) {
			t.Error("the address has the secret")
		}
	})
}

// A call that is given up changes nothing, and a store that is away is an error.
func TestAStoreThatIsAwayIsAnError(t *testing.T) {
	server := storetest.New(t)
	s := server.Open()
	put(t, s, "a/1", []byte("p"))
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Put(ctx, "a/2", &store.Object{Body: []byte("p"), Type: "image/png"}); err == nil {
		t.Error("put")
	}
	if _, err := s.Get(ctx, "a/1"); err == nil || errors.Is(err, store.ErrAbsent) {
		t.Error(err)
	}
	if _, err := s.List(ctx, "", "", 9); err == nil {
		t.Error("listed")
	}
	server.Start()
	has(t, s, "a/1", []byte("p"))
}

// A key that is refused is told by the store's code, without what it says.
func TestARefusedKeyIsToldByItsCode(t *testing.T) {
	server := storetest.New(t)
	a, _ := store.ParseAddress(server.URL())
	s, err := store.Open(a, store.Keys{ID: storetest.Keys.ID, Secret: "wrong-secret"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(t.Context(), "a/1")
	if err == nil || !strings.Contains(err.Error(), "the store answered 403") || strings.Contains(err.Error(), "wrong-secret") {
		t.Error(err)
	}
}

// New keys in the file of credentials count at the next call, and a file without keys changes nothing.
func TestTheFileOfCredentialsIsReadAgain(t *testing.T) {
	server := storetest.New(t)
	file := filepath.Join(t.TempDir(), "credentials")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	a, _ := store.ParseAddress(server.URL())
	s, err := store.Open(a, store.Keys{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		content string
		accepts bool
	}{
		{"[default]\naws_access_key_id = " + storetest.Keys.ID + "\naws_secret_access_key = wrong-secret\n", false},
		{"[default]\naws_access_key_id = " + storetest.Keys.ID + "\naws_secret_access_key = " + storetest.Keys.Secret + "\n", true},
		{"[default]\n", true},
	} {
		if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "a/1", &store.Object{Body: []byte("p"), Type: "image/png"}); (err == nil) != tt.accepts {
			t.Errorf("with %q: %v", tt.content, err)
		}
	}
}

// What a process that died was writing goes at a later start, and what another writes stays.
func TestUnfinishedFilesGo(t *testing.T) {
	dir := t.TempDir()
	storetest.Open(t, "file://"+dir)
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "young": time.Minute} {
		path := filepath.Join(dir, ".new", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Open(t, "file://"+dir)
	if _, err := os.Stat(filepath.Join(dir, ".new", "old")); err == nil {
		t.Error("the old one is there")
	}
	if _, err := os.Stat(filepath.Join(dir, ".new", "young")); err != nil {
		t.Error(err)
	}
}

func TestAddressesOfStores(t *testing.T) {
	for text, want := range map[string]store.Address{
		"s3://pictures": {Bucket: "pictures", Endpoint: "s3.amazonaws.com", Region: "us-east-1"},
		"s3://pictures/a/b?endpoint=https://s3.example:9000&region=eu-1": {Bucket: "pictures", Prefix: "a/b/", Endpoint: "s3.example:9000",
			Region: "eu-1"},
		"s3://pictures/a/?endpoint=s3.example":         {Bucket: "pictures", Prefix: "a/", Endpoint: "s3.example", Region: "us-east-1"},
		"s3://pictures?endpoint=http://127.0.0.1:7070": {Bucket: "pictures", Endpoint: "127.0.0.1:7070", Insecure: true, Region: "us-east-1"},
		"file:///var/lib/pictures/":                    {Dir: "/var/lib/pictures"},
	} {
		got, err := store.ParseAddress(text)
		if err != nil || got.String() != text || got.Bucket != want.Bucket || got.Prefix != want.Prefix || got.Endpoint != want.Endpoint ||
			got.Insecure != want.Insecure || got.Region != want.Region || got.Dir != want.Dir {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "pictures", "s3://", "s3://P", "s3://pictures?bucket=b", "s3://pictures?region=a&region=b", "s3://pictures?endpoint=",
		"s3://pictures?endpoint=ftp://a", "s3://k:s@pictures",
		"s3://pictures?endpoint=https://a/b", "s3://pictures/../b", "s3://pictures/a//b", "s3://pictures/a#b", "s3://pictures?region=EU 1",
		"file://host/dir", "file://dir", "file:///", "file:///dir?x=1", "https://a/b",
	} {
		if got, err := store.ParseAddress(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
