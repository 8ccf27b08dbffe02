package redisstore

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// before is how the version before the ledger of keys reads and writes the text of a hold, and the entry of the ledger that it charges.
const before = `
local state, estimated, task, rates, day, month, held, charged, id, team, what =
  string.match(ARGV[1], '^(%a+) (%d) (%d) (%d+) (%d+) (%d+) (%d+ %d+ %d+ %d+) (%d+ %d+ %d+ %d+) (%S+) (%S+) (.*)$')
if not state then return {} end
local entry, mark, tag = string.match(what, '^(.*|%a*)#(@?)([a-z0-9._-]*)$')
if not entry or mark .. tag == '' then entry = what end
local text = state .. ' ' .. estimated .. ' ' .. task .. ' ' .. rates .. ' ' .. day .. ' ' .. month .. ' ' .. held .. ' ' .. charged ..
  ' ' .. id .. ' ' .. team .. ' ' .. what
return {text, entry, tag or '', tostring(math.floor(rates / 2) % 2 == 1)}`

// A replica of the version before keeps a hold's key and the key's rates, and misreads nothing else of it.
func TestTheVersionBeforeKeepsAHoldsKey(t *testing.T) {
	client := limittest.RealRedis(t)
	for _, key := range []limit.Inner{"", "aaaaaaaaaaaa", "@aaaaaaaaaaaa", "jwt:system%3Aa%2Fb"} {
		h := &limit.Held{
			ID: "0199", Team: "search", Model: "odd#model|text#x", Endpoint: "text", Tag: "@alpha", Key: key, Amounts: limit.Amounts{1, 2, 3, 4},
			Day: 20261121, Month: 202611,
		}
		text := heldText(h, 1|1<<(2*limit.RateCount)|1<<(2*limit.RateCount+1))
		got, err := client.Eval(t.Context(), before, nil, text).StringSlice()
		if err != nil || len(got) != 4 || got[0] != text || got[1] != "odd#model|text#x|text" || got[2] != "alpha" || got[3] != "false" {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// A hold that a replica of the version before made has no key: it is settled as it was.
func TestAHoldOfTheVersionBeforeIsSettled(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team := limittest.Team(f, keyTeams[0])
	h := hold("before", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 9})
	h.Lease = time.Hour
	f.admit(h)
	f.settle(f.held(h), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 4}, false)
	for _, row := range f.rows() {
		if row.Key != "" || row.Used[limit.Tokens] != 4 {
			t.Errorf("%+v", row)
		}
	}
}
