package invoice

import (
	"fmt"
	"strings"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// add adds a line. It returns a fault and the index of the faulty column, or "".
func (r *reader) add(line []string, span Span) (fault string, column int) {
	for i, s := range r.m.Skip {
		if s.Pattern.Match(line[r.skip[i]]) {
			r.left[bySkip]++
			return "", 0
		}
	}
	item := Item{Account: r.accountOf(line)}
	day, ok := r.dayOf(line[r.date]) // also of other accounts, to find the ends of the bill
	if r.account >= 0 && span.Account != "" && item.Account != span.Account {
		r.left[byAccount]++
		return "", 0
	}
	if !ok {
		return fmt.Sprintf("given %q; allowed: a date as %s", line[r.date], r.m.Date.format()), r.date
	}
	if !span.has(day) {
		r.left[byDay]++
		return "", 0
	}
	item.Day, item.Model, item.Kind = day, line[r.model], r.kindOf(line)
	quantity, images, fault, column := r.quantitiesOf(line)
	if fault != "" {
		return fault, column
	}
	counted := r.quantity < 0 && r.tokens < 0 || quantity.plus(images) != (number{})
	amount, fault := r.amountOf(line, counted, span.Money)
	if fault != "" {
		return fault, r.amount
	}
	if r.account >= 0 {
		r.noteAccount(line[r.account])
	}
	if item.Kind == imageKind && r.images >= 0 || item.Kind == Unknown && images != (number{}) {
		if pictures := item; quantity != (number{}) && item.Kind == Unknown { // the money is with the tokens
			pictures.Kind = imageKind
			ok = r.addSum(pictures, tally{quantity: images})
		} else {
			item.Kind, quantity = imageKind, images
		}
	}
	switch r.money += max(amount.whole, -amount.whole); {
	case r.money > 2*mostSum:
		return "the sum of the bill is beyond what can be counted", r.amount
	case !r.addSum(item, tally{quantity, amount}) || !ok:
		return "the sum of its model and kind on that day is beyond what can be counted", r.amount
	}
	return "", 0
}

// amountOf is the money of a line. A line without an amount costs 0 if it also has no quantity; otherwise it is a
// fault, because its cost is unknown.
func (r *reader) amountOf(line []string, counted bool, money unit.Money) (amount number, fault string) {
	text := line[r.amount]
	if strings.TrimSpace(text) == "" {
		if !counted {
			return amount, ""
		}
		return amount, fmt.Sprintf(
			"given %q; allowed: an amount of money beside a quantity, 0 if it costs nothing; the map leaves such lines out by skip: [{column: "+
				"%q, pattern: %q}]",
			text, r.m.Amount.Name, text)
	}
	amount, ok := readNumber(text, 1, money.Digits())
	if !ok {
		return amount, fmt.Sprintf("given %q; allowed: an amount of money, at most %s", text, money.Written(unit.NameSpend, mostSum))
	}
	return amount, ""
}

const aQuantity = "given %q; allowed: a quantity, at most %d"

// quantitiesOf are a line's tokens or pictures; if the bill has separate columns for them, its tokens and its
// pictures.
func (r *reader) quantitiesOf(line []string) (quantity, images number, fault string, column int) {
	if r.tokens < 0 {
		if r.quantity >= 0 && line[r.quantity] != "" {
			quantity, fault, column = r.quantityOf(line)
		}
		return quantity, images, fault, column
	}
	for _, of := range []struct {
		n      *number
		column int
	}{{&quantity, r.tokens}, {&images, r.images}} {
		n, ok := readNumber(line[of.column], 1, 0)
		if !ok {
			return quantity, images, fmt.Sprintf(aQuantity, line[of.column], int64(mostSum)), of.column
		}
		*of.n = n
	}
	return quantity, images, "", 0
}

// accountOf is the account at the service that a line is for; empty: the bill names none.
func (r *reader) accountOf(line []string) string {
	if r.account < 0 {
		return ""
	}
	return r.m.Account.of(line[r.account])
}

// noteAccount notes the account of a line. Without a word it is main.
func (r *reader) noteAccount(word string) {
	r.named = r.named || word != ""
	if word = limit.AccountName(word); !r.accounts[word] && len(r.accounts) < mostAccounts {
		r.accounts[strings.Clone(word)] = true
	}
}

// quantityOf is a line's quantity in tokens or pictures.
func (r *reader) quantityOf(line []string) (n number, fault string, column int) {
	factor := int64(1)
	if r.unit >= 0 {
		of, known := r.m.Units[line[r.unit]]
		if !known {
			return n, fmt.Sprintf("the map's units lack %q", line[r.unit]), r.unit
		}
		factor = of
	}
	n, ok := readNumber(line[r.quantity], factor, 0)
	if !ok {
		return n, fmt.Sprintf(aQuantity, line[r.quantity], int64(mostSum)), r.quantity
	}
	return n, "", 0
}

// addSum adds to the sum of an item, and reports whether the sum can still be counted.
func (r *reader) addSum(item Item, more tally) bool {
	sum := r.sums[item]
	if sum == nil {
		item.Model, item.Account = strings.Clone(item.Model), strings.Clone(item.Account) // the line's memory is reused
		sum = new(tally)
		r.sums[item] = sum
	}
	sum.quantity, sum.amount = sum.quantity.plus(more.quantity), sum.amount.plus(more.amount)
	return max(sum.amount.whole, -sum.amount.whole, sum.quantity.whole, -sum.quantity.whole) <= mostSum
}
