package cache

import "github.com/maypok86/otter/v2"

// nearBytes bounds the answers that are kept in this process beside Redis.
const nearBytes = 64 << 20

// near keeps what this process knows of tasks, the lately used, weighed by the bytes of their answers.
type near struct {
	claims *otter.Cache[owned, *Claim]
}

func newNear() *near {
	return &near{otter.Must(&otter.Options[owned, *Claim]{
		MaximumWeight: nearBytes,
		Weigher:       func(_ owned, c *Claim) uint32 { return uint32(min(len(c.Body)+512, 1<<30)) },
	})}
}

// get returns what is known of a task, or nil. It is not to be changed.
func (n *near) get(team, task string) *Claim {
	claim, _ := n.claims.GetIfPresent(owned{team, task})
	return claim
}

// keep remembers a claim, unless a later state of it is known, and returns what is known then. It is not to be changed.
func (n *near) keep(claim *Claim) *Claim {
	kept := *claim
	known := &kept
	_, _ = n.claims.Compute(owned{claim.Team, claim.Task}, func(was *Claim, found bool) (*Claim, otter.ComputeOp) {
		if found && was.overtook(&kept) {
			known = was
			return was, otter.CancelOp
		}
		if found {
			kept.Tally = was.Tally
		}
		return &kept, otter.WriteOp
	})
	return known
}

// forget drops what is known of a task.
func (n *near) forget(team, task string) { n.claims.Invalidate(owned{team, task}) }

// overtook reports whether a claim is of a later state than another of the same task, or was heard after it.
func (c *Claim) overtook(other *Claim) bool {
	if here, there := c.Answer.Status.rank(), other.Answer.Status.rank(); here != there {
		return here > there
	}
	return c.HeardAfter(other)
}

// of lists what is known of the tasks of teams.
func (n *near) of(teams map[string]bool) (list []*Claim) {
	for claim := range n.claims.Values() {
		if teams[claim.Team] {
			list = append(list, claim)
		}
	}
	return list
}
