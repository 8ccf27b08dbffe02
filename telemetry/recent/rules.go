package recent

import "strings"

// RuleCount is how often requests broke a rule.
type RuleCount struct {
	Warned  int64 // the client was warned
	Refused int64 // the rule refused the request
}

// Plus adds other counts.
func (n RuleCount) Plus(m RuleCount) RuleCount {
	return RuleCount{n.Warned + m.Warned, n.Refused + m.Refused}
}

// The marks behind a rule's id in the text of counts.
const (
	markWarned  = ":w"
	markRefused = ":r"
)

// ruleCount is that of one request.
func ruleCount(refused bool) RuleCount {
	if refused {
		return RuleCount{Refused: 1}
	}
	return RuleCount{Warned: 1}
}

func (c *Counts) breakRule(id string, n RuleCount) {
	if c.Rules == nil {
		c.Rules = map[string]RuleCount{}
	}
	c.Rules[id] = c.Rules[id].Plus(n)
}

// readRule adds what a text has under the name of a rule.
func (c *Counts) readRule(name string, n int64) {
	if id, ok := strings.CutSuffix(name, markWarned); ok {
		c.breakRule(id, RuleCount{Warned: n})
	} else if id, ok := strings.CutSuffix(name, markRefused); ok {
		c.breakRule(id, RuleCount{Refused: n})
	}
}
