package outbox

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
	"sluice/policy/limit/limittest"
)

// trips counts the round trips of a client.
type trips int

func (*trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (n *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		*n++
		return next(ctx, cmd)
	}
}

func (n *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		if len(all) > 0 {
			*n++
		}
		return next(ctx, all)
	}
}

// A distant Redis is asked a few times, however many owners' events wait, and for however many hooks. What a hook has no seat for is left
// to others.
func TestManyOwnersTakeFewRoundTrips(t *testing.T) {
	for about, tt := range map[string]struct{ hook, want int }{
		"the operators' hook": {0, event.InFlight}, "a hook of each team": {1, 256},
	} {
		t.Run(about, func(t *testing.T) {
			client := limittest.RealRedis(t)
			o, rooms := New(client, event.DefaultBounds), event.Rooms{Hooks: map[event.Address]event.Room{}}
			for n := range 300 {
				owner := fmt.Sprint("team", n)
				to := []event.Address{{Owner: event.Operators, Hook: "ops"}, {Owner: owner, Hook: "own"}}[tt.hook]
				rooms.Hooks[to] = event.Room{Most: event.InFlight}
				d := &event.Draft{Type: event.TaskSucceeded, Team: owner, Data: []byte("{}"), To: []event.Target{{Address: to}}}
				if _, err := o.Append(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			client.Set(t.Context(), walkKey, 1, time.Minute)
			for range 2 { // the first time without the scripts
				var asked trips
				client.AddHook(&asked)
				list, _, err := o.Due(t.Context(), rooms, 256)
				if err != nil || len(list) < min(tt.want, 44) || len(list) > tt.want || asked > 14 {
					t.Errorf("%d deliveries in %d round trips: %v", len(list), asked, err)
				}
				for i := range list {
					list[i].State = event.Delivered
					if err := o.Tried(t.Context(), &list[i], 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			if n := client.ZCount(t.Context(), indexKey, "0", fmt.Sprint(time.Now().UnixMilli())).Val(); tt.hook == 0 && n != 300-2*event.InFlight {
				t.Errorf("%d pairs are left to others", n)
			}
		})
	}
}
