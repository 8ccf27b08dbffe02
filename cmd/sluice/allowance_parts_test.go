package main

import (
	"fmt"
	"strings"
	"time"
)

// partLimits are the limits of a lane with parts: its team's, and those of each value of its tag, which together should be a little more.
func partLimits(team, tag int) string {
	return fmt.Sprintf("quotas: {images: {month: %d}}\n    tag_key: project\n    tag_quotas: {images: {month: %d}}", team, tag)
}

// What the key with a quota may use of images, and the key with a rate ask for in an hour.
const (
	keyLimit  = 60
	rateLimit = 40
)

// raceKey is a key of a lane's teams.
type raceKey struct{ name, limits string }

func (k raceKey) id(heat int) string     { return fmt.Sprintf("%.4s%08d", k.name+"0000", heat) }
func (k raceKey) secret(heat int) string { return fmt.Sprintf("race-%s-%d", k.name, heat) }

// partKeys are those of a lane with parts: with a quota, with a rate, and without limits of its own.
var partKeys = []raceKey{
	{"counted", fmt.Sprintf(", quotas: {images: {month: %d}}, concurrent: 6", keyLimit)},
	{"rated", fmt.Sprintf(", rates: {requests: {per: 1h, limit: %d}}", rateLimit)},
	{name: "free"},
}

// partTags are the values of the tag. Requests without one are counted, too.
var partTags = []string{"alpha", ""}

// keys are those of the lane's teams.
func (l *lane) keys() []raceKey {
	if l.parts > 0 {
		return partKeys
	}
	return []raceKey{{name: l.name}}
}

// keyOf is a worker's key. At each of three replicas there are workers with each key and value.
func (l *lane) keyOf(worker int) raceKey { return l.keys()[worker/3%len(l.keys())] }

// tagOf is the value for which a worker asks.
func (l *lane) tagOf(worker int) string {
	if l.parts > 0 {
		return partTags[worker/9%len(partTags)]
	}
	return ""
}

// inParts is what the parts of one kind of a team use and hold of images, by name, read without the gateway's code.
func (r *race) inParts(team, kind string) map[string]int64 {
	r.Helper()
	all, now := map[string]int64{}, time.Now().UTC()
	for _, day := range []time.Time{now, now.AddDate(0, 0, -1)} {
		for field, text := range pairs(r.server.do("HGETALL", "sl1:{"+team+"}:use:"+day.Format("20060102")+":"+kind)) {
			name, unit, _ := strings.Cut(field, "||")
			if unit == "images" || unit == "images|held" {
				var n int64
				_, _ = fmt.Sscan(text, &n)
				all[name] += n
			}
		}
	}
	return all
}

// partsHold checks the limits of keys and of the tag's values. Without Redis nothing is admitted that their quotas count, so what was
// admitted is in Redis, whoever was cut off or killed; lost is how much of it a Redis without memory may lack.
func (h *heat) partsHold(about string, lost int64) {
	h.Helper()
	for i := range h.lanes {
		most := h.lanes[i].parts
		if most == 0 {
			continue
		}
		team := h.lanes[i].team(h.n)
		tags := h.inParts(team, "tags")
		for _, tag := range partTags {
			h.partHolds(about, i, "tag "+tag, tags[tag], most, lost)
		}
		if all, f := tags[partTags[0]]+tags[partTags[1]], h.figuresOf(i); lost == 0 && all != f.total() {
			h.Errorf("%s: the tag's values have %d, their team %d", about, all, f.total())
		}
		if h.house == 0 { // nor have keys limits
			continue
		}
		counted := partKeys[0]
		h.partHolds(about, i, "key "+counted.name, h.inParts(team, "keys")[counted.id(h.n)], keyLimit, lost)
		refilled := int64(time.Since(h.begun)/(time.Hour/rateLimit)) + 1
		if n := h.counts[i].admittedIn("key rated"); n > rateLimit+refilled+lost {
			h.Errorf("%s: %d were admitted with a key of %d an hour", about, n, rateLimit)
		}
	}
}

// partHolds checks one part. If no replica was killed, clients were told of exactly what Redis has.
func (h *heat) partHolds(about string, lane int, part string, has, limit, lost int64) {
	h.Helper()
	admitted := h.counts[lane].admittedIn(part)
	h.Logf("| %-24s | %-11s | admitted %5d | limit %5d | used and held %5d |", about, part, admitted, limit, has)
	if admitted > limit+lost || lost == 0 && has > limit {
		h.Errorf("%s: %s has %d, %d were admitted, the limit is %d", about, part, has, admitted, limit)
	}
	if has < admitted-lost || lost == 0 && len(h.killed) == 0 && has != admitted {
		h.Errorf("%s: %s has %d, %d were admitted", about, part, has, admitted)
	}
}

// admittedIn counts the requests that were admitted in a part.
func (c *laneCount) admittedIn(part string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts[part]
}
