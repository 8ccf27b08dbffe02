package redisstore

import (
	"strconv"

	"sluice/policy/limit"
)

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

// name is the count's in restore.lua.
func (c *tagCount) name() string { return strconv.Itoa(c.day) + "#" + c.value }

// tagNumbers is how many numbers the reply of settle.lua has about the tag of a charge.
const tagNumbers = 1 + len(limit.Amounts{})

// tagged counts the charges whose tags are in the reply.
func tagged(charges []*limit.Charge) (n int) {
	for _, c := range charges {
		if c.Held.Tag.Counted() {
			n++
		}
	}
	return n
}

// recordTags records what the tags of charges used, by the reply to their settlement.
func (o *own) recordTags(of version, charges []*limit.Charge, reply []int64) {
	if len(reply) == 0 {
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
	for _, c := range charges {
		if !c.Held.Tag.Counted() {
			continue
		}
		at := tagOfDay{c.Held.Day, c.Held.Tag.Value()}
		if reply[0] == 1 {
			at.value = limit.Other
		}
		was := o.tagUse[at]
		for unit, n := range reply[1:tagNumbers] {
			if of.seq == o.seen.seq || n > was[unit] {
				was[unit] = n
			}
		}
		if reply = reply[tagNumbers:]; c.Held.Day/100 == o.date.Month && was != (limit.Amounts{}) {
			o.tagUse[at] = was
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
