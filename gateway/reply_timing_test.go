package gateway

import (
	"testing"
	"time"
)

func TestServerTiming(t *testing.T) {
	for own, want := range map[time.Duration]string{
		0: "0.0", 49 * time.Microsecond: "0.0", 50 * time.Microsecond: "0.1", 1240 * time.Microsecond: "1.2", 999_960 * time.Microsecond: "1000.0",
		-time.Second: "0.0",
	} {
		if got := serverTiming(own); got != "sluice;dur="+want {
			t.Errorf("%v is written as %s, want %s", own, got, want)
		}
	}
}
