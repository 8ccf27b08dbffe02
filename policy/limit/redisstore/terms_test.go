package redisstore

import (
	"testing"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// A request counts by the version of the teams file that it came with, even if an older one arrives late. A reload changes the
// limits and fills nothing.
func TestRequestsCountByTheirOwnReading(t *testing.T) {
	forms(t, func(f *form) {
		narrow := limittest.Team(f, "rates: {requests: {per: 1h, limit: 5}}")
		wide := limittest.Team(f, "rates: {requests: {per: 1h, limit: 9}}", "quotas: {requests: {day: 3}}")
		var held []*limit.Held
		for n, tt := range []struct {
			about       string
			team        *teams.Team
			limit, left int64
			limits      int
			reason      limit.Reason
		}{
			{"at first", narrow, 5, 4, 1, limit.ReasonNone},
			{"again", narrow, 5, 3, 1, limit.ReasonNone},
			{"after a reload", wide, 9, 2, 2, limit.ReasonNone},
			{"the quota counts from the beginning", wide, 9, 2, 2, limit.ReasonQuota},
			{"one that came before the reload", narrow, 5, 1, 1, limit.ReasonNone},
			{"back to the reload", wide, 9, 1, 2, limit.ReasonQuota},
		} {
			v := f.ask(hold(id(n), tt.team, limit.Amounts{limit.Requests: 1}))
			if v.Reason != tt.reason || len(v.Limits) != tt.limits || v.Limits[0].Limit != tt.limit || v.Limits[0].Left != tt.left {
				f.Errorf("%s: %q, %+v; want %q, %d left of %d", tt.about, v.Reason, v.Limits, tt.reason, tt.left, tt.limit)
			}
			if v.Held != nil {
				held = append(held, v.Held)
			}
		}
		f.charge(held[0], nil, limit.Amounts{})
		f.charge(held[1], narrow, limit.Amounts{})
		if v := f.ask(hold("after", narrow, limit.Amounts{limit.Requests: 1})); v.Limits[0].Left != 1 {
			f.Errorf("%d left: a removed team gives nothing back to the rates, an existing one does", v.Limits[0].Left)
		}
	})
}
