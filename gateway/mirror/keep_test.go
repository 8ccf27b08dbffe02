package mirror_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/mirror"
	"sluice/gateway/mirror/store"
	"sluice/gateway/upstream"
)

// keys is a store that keeps nothing but keys.
type keys map[string]bool

func (k keys) Put(_ context.Context, key string, _ *store.Object) error { k[key] = true; return nil }
func (k keys) Get(context.Context, string) (*store.Kept, error)         { return nil, store.ErrAbsent }
func (k keys) Sign(context.Context, string, time.Duration) (string, error) {
	return "", store.ErrUnsigned
}

func (k keys) List(_ context.Context, prefix, after string, most int) (list []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(k)) {
		if strings.HasPrefix(key, prefix) && key > after && len(list) < most {
			list = append(list, key)
		}
	}
	return list, nil
}

func (k keys) Delete(_ context.Context, list []string) error {
	for _, key := range list {
		delete(k, key)
	}
	return nil
}

// Pictures are deleted when a day's last one is older than its team keeps; other teams' are not, nor what is no picture.
func TestWhatIsTooOldIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.Store = keys{}
		put := func(key string) {
			if err := b.store.Store.Put(t.Context(), key, &store.Object{Body: []byte(b.day), Type: "image/png"}); err != nil {
				t.Fatal(err)
			}
		}
		date := func(days int) string { return time.Now().UTC().AddDate(0, 0, -days).Format("2006/01/02") }
		for days := range 6 {
			for task := range 250 {
				name := fmt.Sprintf("t%d-%d", days, task)
				put("search/" + date(days) + "/" + name + "/1.png")
				put("search/" + date(days) + "/" + name + "/2.jpg")
				put("search/tasks/" + name)
			}
			put("shop/" + date(days) + "/t/1.png")
		}
		config := b.config()
		config.Keep = func() map[string]time.Duration { return map[string]time.Duration{"search": 72 * time.Hour} }
		b.run(config)
		b.run(config) // another replica, which does nothing
		time.Sleep(2 * time.Second)
		if b.counted()["deleted"] != 2*2*250 || strings.Count(b.log.String(), "deleted=1000") != 1 {
			t.Error(b.counted(), b.log.String())
		}
		all, err := b.store.List(t.Context(), "", "", 10_000)
		if err != nil || len(all) != 4*3*250+6 {
			t.Error(len(all), err)
		}
		for _, key := range all {
			if strings.Contains(key, "t4-") || strings.Contains(key, "t5-") {
				t.Error(key, "is kept")
			}
		}
		time.Sleep(24 * time.Hour)
		if b.counted()["deleted"] != 3*2*250 {
			t.Error(b.counted())
		}
	})
}

// A day's successes are compared with the store, and what is missing is named.
func TestADayIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.host("https://a/2", upstream.ErrNoImage)
		b.succeed("t1", "https://a/1", "https://a/2")
		b.succeed("t2", "https://a/3")
		time.Sleep(2 * time.Second)
		keep := 72 * time.Hour
		verify := func() string {
			var out bytes.Buffer
			v := mirror.Verification{Store: b.store, Teams: []string{"search", "shop"}, Succeeded: b.works.Works.Succeeded,
				Keep: map[string]time.Duration{"search": keep}, Now: time.Now()}
			missing, err := v.Run(t.Context(), &out, b.day)
			return fmt.Sprint(out.String(), missing, err)
		}
		want := "missing search t1 2\n" + b.day + ": 2 tasks succeeded with 3 pictures, 1 of them is missing\n1<nil>"
		if got := verify(); strings.ReplaceAll(got, " <nil>", "<nil>") != want {
			t.Error(got)
		}
		if err := b.store.Delete(t.Context(), []string{"search/" + b.day + "/t2/1.png"}); err != nil {
			t.Fatal(err)
		}
		if got := verify(); !strings.Contains(got, "missing search t2 1\n") || !strings.Contains(got, "2 of them") {
			t.Error(got)
		}
		time.Sleep(keep + 24*time.Hour)
		if got := verify(); !strings.Contains(got, "0 tasks succeeded") { // what is deleted in time is not missing
			t.Error(got)
		}
	})
}
