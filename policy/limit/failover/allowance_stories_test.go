package failover

import (
	"runtime"
	"testing"
	"time"
)

// Acts of the stories below.
func ask(who string, times int, kind string) act {
	return act{do: asks, who: who, times: times, kind: kind}
}

func fare(who string, lets passage) act { return act{do: fares, who: who, lets: lets} }

func settle(who string) act { return act{do: settles, who: who, times: 100, truth: "all"} }

func after(d time.Duration) act { return act{do: passes, wait: d} }

func does(who string, do verb) act { return act{do: do, who: who} }

// TestHistoriesThatAreEasyToGetWrong plays stories that are easy to get wrong, each for another reason. A text is 30 tokens, of which
// shop has 2,400 a day: 80 texts, and a tenth of the rest may be set aside.
func TestHistoriesThatAreEasyToGetWrong(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	collectSeldom(t)
	const text, task = "a text", "a task of 4 images"
	awake := []act{ask(everywhere, 5, text), settle("A"), settle("B"), settle("C"), after(11 * time.Second)} // 15 texts are used
	for about, s := range map[string]story{
		// A's allowance is not free when its lease ends: A may have spent it.
		"one is cut off for longer than a lease": {acts: []act{fare("A", isAway), ask("A", 3, text), after(20 * time.Minute),
			ask("BC", 40, text), fare("A", works)}},
		// The first replica to return sees that all leases have ended. The others' reports then correct the charges for
		// that.
		"all are cut off for longer than a lease": {acts: []act{fare(everywhere, isAway), ask(everywhere, 1, text), after(20 * time.Minute),
			fare("A", works), after(5 * time.Second), fare("BC", works)}},
		// A refused request's call may still be executed by Redis: it must find that the hold was given back already.
		"refused calls arrive late": {acts: []act{fare("A", isLate), ask("A", 20, text), fare("A", works), after(5 * time.Second),
			does("A", arrives)}},
		// A late call must not take from the current allowance the amount that was lent to it earlier.
		"late calls take nothing twice": {acts: []act{
			fare("A", isLate), ask("A", 20, text), fare("A", works), after(5 * time.Second), ask("B", 65, text), does("A", arrives),
			fare("A", isAway), ask("A", 20, text),
		}},
		"late calls arrive when the limit is reached": {acts: []act{fare("A", isLate), ask("A", 3, text), ask("B", 65, text), does("A", arrives),
			ask("A", 20, text), fare("A", works)}},
		// A renewal arrives after its sender gave it up and stopped in good order.
		"a renewal arrives after its replica has stopped": {acts: []act{
			ask("A", 5, text), {do: fares, who: "A", lets: isLate, calls: 2}, after(11 * time.Second), fare("A", works), settle("A"),
			after(11 * time.Second), does("A", restarts), does("A", arrives),
		}},
		"a renewal arrives behind the next one": {acts: []act{
			fare("A", isLate), ask("A", 2, text), settle("A"), after(11 * time.Second), fare("A", works), after(11 * time.Second),
			does("A", arrives), ask("BC", 40, text), fare("A", isAway), ask("A", 9, text),
		}},
		"replies are lost for long": {acts: []act{
			fare("A", neverComes), ask("A", 3, text), settle("A"), after(11 * time.Second), ask("A", 3, text), settle("A"), after(11 * time.Second),
			ask("B", 65, text), fare("A", works),
		}},
		// Redis is back with an older dump, and the first caller does not know that data is missing.
		"the first to ask after a restart is new to the team": {acts: []act{does("A", saves), ask("A", 20, task), after(5 * time.Second),
			does("A", rollsBack), ask("C", 20, task)}},
		// A replica that meets a team for the first time checks whether Redis has just lost it.
		"the first to ask after Redis forgot is new to the team": {
			acts: []act{ask("C", 1, task), after(11 * time.Second), does("A", forgets), ask("AB", 20, task)}},
		// A replica whose beat is late is still alive: the accounts are not restored before it has reported its holds.
		"Redis forgets after a quiet minute": {acts: []act{ask("AB", 20, task), after(time.Minute), does("A", forgets), ask("A", 1, task)}},
		// The team is not listed in an older dump: a replica that restores it also lists it, or its holds would not be
		// swept.
		"the list of teams is older than the team": {acts: []act{does("A", saves), ask(everywhere, 1, task), does("A", rollsBack),
			ask(everywhere, 5, "3 pictures"), does("C", dies)}},
		// So many changes follow that their count exceeds the one that A knows.
		"what is gone is overtaken": {acts: []act{does("A", saves), ask("A", 20, text), after(3 * time.Second), does("A", rollsBack),
			ask("B", 40, text), ask("A", 40, text)}},
		// Each replica knows a part of the use; the largest part is not the sum.
		"settled some time before Redis forgets": {acts: []act{ask("A", 20, text), ask("B", 20, text), after(time.Second), settle("A"),
			settle("B"), after(5 * time.Second), does("A", forgets), after(5 * time.Second), ask("C", 40, text)}},
		// Redis forgets the allowance of a replica that is cut off and goes on spending.
		"one is cut off while Redis forgets": {acts: []act{fare("A", isAway), does("A", forgets), after(5 * time.Second), ask("B", 100, text),
			ask("A", 5, text)}},
		// A replica spends without Redis and stops before Redis is back. Its spending is charged when its lease ends,
		// although the team makes no more requests.
		"a replica stops without Redis": {acts: []act{fare(everywhere, neverGoes), ask("B", 2, text), settle("B"), does("B", restarts),
			after(5 * time.Second), fare(everywhere, works)}},
		// The sweep finds every allowance, although no request of the team came through.
		"a team's first request does not come through": {acts: []act{{do: fares, who: "A", lets: isAway, calls: 2}, ask("A", 1, task),
			after(time.Second), does("A", dies)}},
		// Charges of a replica that never admitted a request of the team are not lost with Redis.
		"Redis forgets what was swept": {start: "20s before the month is over",
			acts: []act{ask("B", 1, text), after(20 * time.Minute), settle("B"), does("A", forgets)}},
		// An uncertain settlement of an uncertain request is charged although Redis is away for longer than it remembers
		// settled holds.
		"away for longer than what is settled is remembered": {acts: []act{fare("A", neverGoes), ask("A", 1, text), settle("A"),
			after(20 * time.Minute), fare("A", works), after(5 * time.Second)}},
		// A replica that has restored its data and restarts counts once: its successor has nothing to restore.
		"a replica restarts while Redis is restored": {acts: []act{
			ask("C", 20, task), after(11 * time.Second), does("A", forgets), ask("A", 1, task), does("A", restarts), ask("A", 1, task),
			ask("B", 1, task), ask("B", 20, task), ask("A", 20, task),
		}},
		// The copy is as new as the last report of each replica, and has overtaken its missing part before a replica that
		// knows it calls again.
		"Redis was restarted": {acts: []act{
			ask("BC", 1, text), after(11 * time.Second), does("A", saves), {do: settles, who: "C", times: 1, truth: "more"}, does("A", rollsBack),
		}},
		// C's charges in the copy must not hide B's earlier charges, which only B knows.
		"Redis was restarted, and the first to charge knows nothing of what is gone": {acts: []act{
			ask("BC", 5, text), after(5 * time.Second), does("A", saves), {do: settles, who: "B", times: 1, truth: "all"}, does("A", rollsBack),
			{do: settles, who: "C", times: 5, truth: "all"},
		}},
		// The second copy that came back is older than the accounts that were begun after the first.
		"Redis rolls back twice": {acts: []act{does("A", saves), ask("B", 1, task), after(11 * time.Second), does("A", rollsBack),
			ask("A", 5, task), does("A", rollsBack), ask("A", 40, task)}},
		// Charges of one replica are not lost while the others have not yet reported theirs.
		"Redis forgets twice": {acts: []act{
			ask("AC", 1, task), {do: takesOver, who: "B", times: 1, truth: "all"}, fare("BC", neverGoes), ask("BC", 5, "3 pictures"),
			fare("C", works), does("A", forgets), settle("C"), does("A", forgets),
		}},
		"a team's first request is its replica's last": {acts: []act{ask("A", 1, "3 pictures"), does("A", dies)}},
		// The quotas of a key are known in Redis alone: without it the team's allowance is for requests that none of them counts.
		"a key's quota without Redis": {acts: []act{
			ask(everywhere, 3, "a text with a key"), ask(everywhere, 3, "a text with another key"), settle("A"), after(11 * time.Second),
			fare("A", isAway),
			ask("A", 1, "a text with a key"), ask("A", 3, "a text with another key"), settle("A"), fare("A", works),
			ask("BC", 20, "a text with a key"),
		}},
		"midnight without Redis": {start: "20s before midnight",
			acts: []act{fare("A", isAway), after(11 * time.Second), ask("A", 3, text), ask("B", 100, text), fare("A", works)}},
		"another limit while cut off": {acts: []act{fare("A", isAway), {do: reads, who: everywhere, limit: "half"}, ask("A", 3, text),
			after(11 * time.Minute), after(5 * time.Second), ask("B", 40, text), fare("A", works)}},
		"slow calls and a renewal at once": {acts: []act{fare(everywhere, isSlow), ask(everywhere, 20, text),
			{do: fares, who: "A", lets: neverComes, calls: 2}, ask(everywhere, 5, text), fare(everywhere, works)}},
	} {
		s.acts = append(awake[:len(awake):len(awake)], s.acts...)
		s.isTold(t, about)
	}
	for about, s := range map[string]story{ // of teams that are not active
		// The amount that the script took of the allowance for a call that is refused here is not spent again.
		"a call in doubt is refused": {replicas: 2, acts: []act{
			ask("AB", 14, task), settle("A"), settle("B"), ask("AB", 8, task), settle("A"), settle("B"), ask("A", 1, task), settle("A"),
			after(11 * time.Second),
			does("B", restarts), ask("B", 14, task), fare("A", neverComes), ask("A", 1, task), fare("A", works), does("A", maintains),
			ask("B", 1, task), fare("A", isAway), ask("A", 1, "3 pictures"),
		}},
		// A call is under way at midnight: the day of its loan is over when it is decided.
		"midnight while a call is under way": {start: "20s before midnight", acts: []act{
			ask(everywhere, 2, text), settle("A"), settle("B"), settle("C"), after(11 * time.Second), {do: passes, wait: 4800 * time.Millisecond},
			fare("A", neverGoes), ask("A", 1, text), fare("A", isAway), after(5 * time.Second), ask("BC", 100, text), ask("A", 20, text),
		}},
	} {
		s.isTold(t, about)
	}
}

// isTold plays a story of three replicas at noon, unless it says otherwise.
func (s story) isTold(t *testing.T, about string) {
	t.Run(about, func(t *testing.T) {
		if s.replicas == 0 {
			s.replicas = 3
		}
		s.told = s.replicas
		if s.start == "" {
			s.start = "at noon"
		}
		if why, seen := s.play(t); why != "" {
			t.Error(s.report(why, seen))
		}
	})
}
