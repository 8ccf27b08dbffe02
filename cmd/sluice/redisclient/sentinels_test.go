package redisclient

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// answering listens as a sentinel that answers every command with one reply.
func answering(t *testing.T, reply string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for request := make([]byte, 1<<10); ; {
					if _, err := conn.Read(request); err != nil {
						return
					}
					if _, err := conn.Write([]byte(reply)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// TestSentinelsThatNameNoMasterSayWhyInALine: what one of them answered rather than that another is away. To no caller it looks as if Redis
// had answered that a key is absent.
func TestSentinelsThatNameNoMasterSayWhyInALine(t *testing.T) {
	const away = "127.0.0.1:1"
	stranger, guarded := answering(t, "*-1\r\n"), answering(t, "-NOAUTH Authentication required.\r\n")
	for _, tt := range []struct {
		hosts []string
		want  string
	}{
		{[]string{away, away}, "the sentinels: connection refused"},
		{[]string{away, guarded}, "the sentinels: NOAUTH Authentication required."},
		{[]string{guarded, away, guarded}, "the sentinels: NOAUTH Authentication required."},
		{[]string{stranger, stranger}, "the sentinels: none that answers knows the master"},
		{[]string{away, stranger}, "the sentinels: none that answers knows the master"},
		{[]string{stranger, guarded}, "the sentinels: NOAUTH Authentication required."},
	} {
		config := configOf(t, away, patience)
		config.Address, _ = ParseAddress("redis+sentinel://" + strings.Join(tt.hosts, ",") + "/master")
		config.Plain = func(err error) error {
			if net, ok := errors.AsType[*net.OpError](err); ok {
				return errors.Unwrap(net.Err)
			}
			return err
		}
		c := Open(config)
		t.Cleanup(func() { _ = c.Close() })
		pipe := c.Pipeline()
		first := pipe.Get(t.Context(), "sl1:a")
		_, errPipe := pipe.Exec(t.Context())
		for about, err := range map[string]error{"a call": c.Get(t.Context(), "sl1:a").Err(), "a pipeline": errPipe, "its first": first.Err(),
			"the failure": c.WhyAway()} {
			if err == nil || err.Error() != tt.want || errors.Is(err, redis.Nil) {
				t.Errorf("%q: %s: %v, want %s", tt.hosts, about, err, tt.want)
			}
		}
	}
}
