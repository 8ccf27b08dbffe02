package redisstore

import "sluice/policy/limit"

// tagOfDay is a value of a team's tag on a day.
type tagOfDay struct {
	day   int
	value string
}

// tagCount is what a value used on a day.
type tagCount struct {
	tagOfDay
	used limit.Amounts
}

// tagCountsOf reads what the tags of charges used, by the reply to their settlement.
func tagCountsOf(charges []*limit.Charge, in *reply) (counts []tagCount) {
	for _, c := range charges {
		if !c.Held.Tag.Counted() {
			continue
		}
		n := tagCount{tagOfDay: tagOfDay{c.Held.Day, c.Held.Tag.Value()}}
		if in.next() == 1 {
			n.value = limit.Other
		}
		in.into(n.used[:])
		counts = append(counts, n)
	}
	return counts
}

// recordTags records what the tags of charges used.
func (o *own) recordTags(of version, counts []tagCount) {
	if len(counts) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if of.epoch != o.seen.epoch {
		return
	}
	if o.tagUse == nil {
		o.tagUse = map[tagOfDay]limit.Amounts{}
	}
	for _, c := range counts {
		was := o.tagUse[c.tagOfDay]
		for unit, n := range c.used {
			if of.seq == o.seen.seq || n > was[unit] {
				was[unit] = n
			}
		}
		if c.day/100 == o.date.Month && was != (limit.Amounts{}) {
			o.tagUse[c.tagOfDay] = was
		}
	}
}

// tagCounts lists what values of the tag used in the month.
func (o *own) tagCounts() (list []tagCount) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for at, used := range o.tagUse {
		for unit, n := range used {
			used[unit] = max(n, 0)
		}
		list = append(list, tagCount{at, used})
	}
	return list
}
