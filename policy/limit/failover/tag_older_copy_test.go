package failover

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// A copy of Redis's memory may be older than the first quota of each value. What it has of the use of that time counts once.
func TestTagUseOutlivesACopyFromBeforeTheQuota(t *testing.T) {
	client := limittest.RealRedis(t)
	w := newTagWorld(t, client, "")
	a, b := w.replicas[0], w.replicas[1]
	without, with := limittest.Team(t, "tag_key: project"), limittest.Team(t, "tag_key: project", "tag_quotas: {tokens: {day: 20}}")
	five, three := limit.Amounts{limit.Tokens: 5}, limit.Amounts{limit.Tokens: 3}
	v, err := a.tagged("before", "alpha", without, five)
	if err != nil {
		t.Fatal(err)
	}
	a.charge(v.Held, without, five)
	a.settled()
	w.maintain(t)
	back := limittest.Copy(t, client)
	for i, s := range w.replicas {
		if v, err = s.tagged(id(i), "alpha", with, three); err != nil {
			t.Fatal(err)
		}
		s.charge(v.Held, with, three)
		s.settled()
	}
	w.maintain(t)
	back()
	w.restored(t, with)
	if diff := cmp.Diff(map[string][2]int64{"alpha": {11, 0}}, dayUse(b, with)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
