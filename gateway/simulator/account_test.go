package simulator

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator/billing"
)

// by is the header of a request with a key.
func by(key string) []string { return []string{"Authorization", "Bearer " + key} }

// pair is a service with the accounts a and b and the keys ka, ka2 and kb.
func pair(t *testing.T, a Account) *rig {
	t.Helper()
	a.Keys = []string{"ka", "ka2"}
	return newRig(t, Config{Accounts: map[string]Account{"a": a, "b": {Keys: []string{"kb"}}}, Keys: []string{}, TaskRate: 3,
		Pending: time.Second})
}

// A request belongs to the account that has its key: by name before one that accepts every key, and to the first of several.
func TestAKeyNamesItsAccount(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want map[string]string // key → account; empty: refused
	}{
		{"no accounts", Config{Keys: []string{}}, map[string]string{"any": billing.Account}},
		{"keys alone", Config{Keys: []string{"k"}}, map[string]string{"k": billing.Account, "x": ""}},
		{"accounts alone", Config{Keys: []string{}, Accounts: map[string]Account{"a": {Keys: []string{"ka"}},
			"b": {Keys: []string{"kb", "kb2"}}}},
			map[string]string{"ka": "a", "kb": "b", "kb2": "b", "x": ""}},
		{"both", Config{Keys: []string{"k"}, Accounts: map[string]Account{"a": {Keys: []string{"ka"}}}},
			map[string]string{"ka": "a", "k": billing.Account, "x": ""}},
		{"one that accepts every key", Config{Keys: []string{}, Accounts: map[string]Account{"a": {}, "b": {Keys: []string{"kb"}}}},
			map[string]string{"kb": "b", "x": "a"}},
		{"two with one key", Config{Keys: []string{}, Accounts: map[string]Account{"b": {Keys: []string{"k"}}, "a": {Keys: []string{"k"}}}},
			map[string]string{"k": "a"}},
	} {
		r := newRig(t, tt.cfg)
		for key, want := range tt.want {
			r.Reset()
			status := map[bool]int{true: 200, false: 401}[want != ""]
			if g := r.post(textPath, say("hi", ""), by(key)...); g.status != status {
				t.Errorf("%s: %s is answered %d", tt.name, key, g.status)
			}
			if got := r.Requests()[0]; got.Account != want || got.Executed != (want != "") {
				t.Errorf("%s: the request with %s is recorded of %q, executed %v", tt.name, key, got.Account, got.Executed)
			}
		}
	}
}

// An account sees, cancels and lists its own tasks with each of its keys. Those of another account are as unknown as none.
func TestTasksBelongToTheirAccount(t *testing.T) {
	r := pair(t, Account{TaskRate: -1})
	path := tasksPath + "/" + text(r.post(imagePath, edit(""), append(by("ka"), async...)...).object(t), "output.task_id")
	for key, want := range map[string]string{"ka": "PENDING", "ka2": "PENDING", "kb": "UNKNOWN"} {
		if got := text(r.get(path, by(key)...).object(t), "output.task_status"); got != want {
			t.Errorf("to %s the task is %s, want %s", key, got, want)
		}
	}
	for key, want := range map[string]float64{"ka2": 1, "kb": 0} {
		if got := r.get(tasksPath, by(key)...).object(t)["total"]; got != want {
			t.Errorf("%s lists %v tasks", key, got)
		}
	}
	r.post(path+"/cancel", "", by("kb")...).want(t, 400, "UnsupportedOperation")
	if got := r.Violations(); len(got) != 2 || !strings.HasSuffix(got[1], "/cancel: asks for a task of a") {
		t.Errorf("asked for another account's task: %q", got)
	}
	r.SetKeys("a", "new") // a rotation
	r.get(path, by("ka")...).want(t, 401, "InvalidApiKey")
	if g := r.post(path+"/cancel", "", by("new")...); g.status != 200 {
		t.Errorf("with a new key of its account the cancel is answered %d %s", g.status, g.body)
	}
}

// The rates of an account are its own. A request passes all that cover it or is counted in none, and a refusal says how long to wait if
// the rate does.
func TestRatesOfAnAccount(t *testing.T) {
	r := pair(t, Account{Rates: []Rate{{Requests: 3, RetryAfter: true}, {Models: "llm-max", Requests: 1, Per: time.Minute}}})
	ask := func(model, key string) string {
		g := r.post(textPath, strings.Replace(say("hi", ""), "llm-plus", model, 1), by(key)...)
		if g.status != 200 {
			g.want(t, 429, "Throttling.RateQuota")
		}
		return strings.TrimSpace(fmt.Sprint(g.status, " ", g.header.Get("Retry-After")))
	}
	for i, step := range []struct {
		later      time.Duration
		model, key string
		want       string
	}{
		{0, "llm-max", "ka", "200"},
		{0, "llm-max", "ka2", "429"}, // its other key; of the minute, which does not say how long, and so not counted in the second
		{0, "llm-plus", "ka", "200"},
		{0, "llm-plus", "ka", "200"},
		{0, "llm-plus", "ka", "429 1"},
		{0, "llm-max", "ka", "429 1"},
		{0, "llm-plus", "kb", "200"},
		{time.Second, "llm-plus", "ka", "200"},
		{0, "llm-max", "ka", "429"},
		{time.Minute, "llm-max", "ka", "200"},
	} {
		r.advance(step.later)
		if got := ask(step.model, step.key); got != step.want {
			t.Errorf("request %d: %s, want %s", i, got, step.want)
		}
	}
	for key, rate := range map[string]int{"ka": 3, "kb": 3} { // queries have a rate of their own, each account's
		for i := range rate + 1 {
			if g := r.get(tasksPath+"/abc", by(key)...); (g.status == 200) != (i < rate) {
				t.Errorf("query %d of %s: %d", i, key, g.status)
			}
		}
	}
}

// What is wrong with one account is wrong with none of the others, nor with what the fault leaves out.
func TestFaultsOfAnAccount(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault Fault
		want  int
		code  string
		after string // Retry-After
	}{
		{"throttled", Fault{Error: &FaultError{Code: "Throttling"}}, 429, "Throttling", ""},
		{"throttled for a while", Fault{Error: &FaultError{Code: "Throttling"}, RetryAfter: "7"}, 429, "Throttling", "7"},
		{"of a spent quota", Fault{Error: &FaultError{Code: "Throttling.AllocationQuota"}}, 429, "Throttling.AllocationQuota", ""},
		{"its key is refused", Fault{Error: &FaultError{Code: "InvalidApiKey"}}, 401, "InvalidApiKey", ""},
		{"in arrears", Fault{Error: &FaultError{Code: "Arrearage"}}, 400, "Arrearage", ""},
		{"never paid", Fault{Error: &FaultError{Code: "CommodityNotPurchased"}}, 429, "CommodityNotPurchased", ""},
		{"prepaid", Fault{Error: &FaultError{Code: "PrepaidBillOverdue"}}, 429, "PrepaidBillOverdue", ""},
		{"postpaid", Fault{Error: &FaultError{Code: "PostpaidBillOverdue"}}, 429, "PostpaidBillOverdue", ""},
	} {
		r := pair(t, Account{})
		tt.fault.Account, tt.fault.On = "a", EndpointModels
		g := r.with(tt.fault).post(textPath, say("hi", ""), by("ka")...)
		if g.want(t, tt.want, tt.code); g.header.Get("Retry-After") != tt.after {
			t.Errorf("%s: Retry-After is %q", tt.name, g.header.Get("Retry-After"))
		}
		// a refused stream is a frame, but for a refused key
		plain := r.post(textPath, say("hi", ""), append(by("ka"), sse...)...).status == tt.want
		if plain != (tt.want == 401) {
			t.Errorf("%s: the stream is refused by its status: %v", tt.name, plain)
		}
		if other, query := r.post(textPath, say("hi", ""), by("kb")...),
			r.get(tasksPath+"/abc", by("ka")...); other.status != 200 || query.status != 200 {
			t.Errorf("%s: the other account is answered %d, a query %d", tt.name, other.status, query.status)
		}
		if a, b := r.Tally("a"), r.Tally("b"); len(a.Executed) > 0 || a.Requests[EndpointText] != 2 || b.Executed[EndpointText] != 1 {
			t.Errorf("%s: counted %+v and %+v", tt.name, a, b)
		}
	}
}

// An account that hangs or cuts its answers has done the work; the other answers meanwhile.
func TestAnAccountHangsOrCuts(t *testing.T) {
	r := pair(t, Account{}).with(Fault{Account: "a", Stall: "before"})
	done := make(chan got, 1)
	go func() { done <- r.post(textPath, say("hi", ""), by("ka")...) }()
	if err := r.AwaitStalled(within(t), 1); err != nil {
		t.Fatal(err)
	}
	if g := r.post(textPath, say("ho", ""), by("kb")...); g.status != 200 {
		t.Errorf("meanwhile the other account is answered %d", g.status)
	}
	r.Release()
	if g := <-done; g.status != 200 {
		t.Errorf("after the release: %d %v", g.status, g.err)
	}
	r.SetFault(Fault{Account: "a", Cut: "close", After: 1})
	if g := r.post(textPath, say("ha", ""), by("ka")...); g.err == nil {
		t.Errorf("the answer is whole: %s", g.body)
	}
	if n := r.Tally("a").Executed[EndpointText]; n != 2 || len(r.Twice()) != 0 {
		t.Errorf("executed %d, twice %q", n, r.Twice())
	}
}

// A body that two accounts executed, or one twice, is told. What was refused, or only asked for, is not.
func TestWorkDoneTwiceIsTold(t *testing.T) {
	r := pair(t, Account{})
	r.SetFault(Fault{Account: "a", Times: 1, Error: &FaultError{Code: "Throttling"}})
	for _, words := range []string{"one", "one"} {
		r.post(textPath, say(words, ""), by("ka")...)
	}
	r.get(tasksPath+"/abc", by("ka")...)
	r.get(tasksPath+"/abc", by("kb")...)
	if got := r.Twice(); len(got) != 0 {
		t.Errorf("executed once: %q", got)
	}
	r.post(textPath, say("one", ""), by("kb")...)
	r.post(imagePath, edit(""), append(by("kb"), async...)...)
	r.post(imagePath, edit(""), append(by("kb"), async...)...)
	got := r.Twice()
	if len(got) != 2 || !strings.HasSuffix(got[0], "was executed by a, b") || !strings.HasPrefix(got[1], "POST "+imagePath) ||
		!strings.HasSuffix(got[1], "by b, b") {
		t.Errorf("executed twice: %q", got)
	}
	if r.Reset(); len(r.Twice()) != 0 {
		t.Errorf("after Reset: %q", r.Twice())
	}
}

// Each account has its lines on the bill and its sums, also of a task that ends by itself.
func TestEachAccountHasItsBill(t *testing.T) {
	r := pair(t, Account{})
	r.post(textPath, say("hi", `"max_tokens":5`), by("ka")...)
	r.post(imagePath, edit(`"n":2,"size":"1024*1024"`), append(by("kb"), async...)...)
	r.post(multimodalPath, draw(`"size":"1024*1024"`), by("ka2")...)
	r.advance(time.Hour)
	const head, ofA, ofB = "Hour,Account,Model,Item,Usage,Unit,UnitPrice,Cost\n",
		"2026-03-04 13:00,a,llm-image-plus,images up to 1048576 pixels,1,piece,0.2,0.2\n" +
			"2026-03-04 13:00,a,llm-plus,input tokens,0.005,1k tokens,0.0008,0.000004\n" +
			"2026-03-04 13:00,a,llm-plus,output tokens,0.005,1k tokens,0.002,0.00001\n",
		"2026-03-04 13:00,b,gen2.6-image,images up to 1048576 pixels,2,piece,0.14,0.28\n"
	for want, accounts := range map[string][]string{head + ofA + ofB: nil, head + ofA: {"a"}, head + ofB: {"b"}, head: {"c"}} {
		var bill bytes.Buffer
		if err := r.Bill(&bill, accounts...); err != nil || cmp.Diff(want, bill.String()) != "" {
			t.Errorf("the bill of %v: %v\n%s", accounts, err, bill.String())
		}
	}
	if a, b, all := r.Tally("a"), r.Tally("b"), r.Tally(); a.Images != 1 || a.Tokens != 10 || b.Images != 2 || all.Images != 3 ||
		all.Tokens != 10 {
		t.Errorf("the sums are %+v, %+v and %+v", a, b, all)
	}
	if n := r.Count(EndpointText, "a"); n != 1 || r.Count(EndpointText, "b") != 0 || r.Count(EndpointText) != 1 {
		t.Errorf("%d texts counted", n)
	}
}

// Faults are set over HTTP where the operator of the simulator wants it, and nowhere else.
func TestFaultsOverHTTP(t *testing.T) {
	accounts, err := Accounts(map[string]string{"a": "ka", "b": "kb"}, map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Config{Accounts: accounts, Keys: []string{}, Control: true})
	set := func(list string) got { return r.do(http.MethodPut, "/faults", list, "Authorization", "") }
	if g := set(`[{"account": "a", "on": "models", "times": 1, "delay": "1ms", "error": {"code": "Throttling"},` +
		` "retryAfter": "7"}]`); g.status != 204 {
		t.Fatalf("answered %d %s", g.status, g.body)
	}
	if g := r.post(textPath, say("hi", ""), by("ka")...); g.status != 429 || g.header.Get("Retry-After") != "7" {
		t.Errorf("the fault is not in force: %d", g.status)
	}
	for _, want := range []int{200, 429} { // its rate
		if g := r.post(textPath, say("hi", ""), by("ka")...); g.status != want {
			t.Errorf("answered %d, want %d", g.status, want)
		}
	}
	for list, want := range map[string]string{
		``: "EOF", `{}`: "cannot unmarshal object", `[{"acount": "a"}]`: `unknown field "acount"`, `[{"delay": "2"}]`: "missing unit",
		`[{"account": "c"}]`: `there is no account "c"`, `[{"error": {"state": 429}}]`: `unknown field "state"`,
		`[{"delay": 2}]`: "cannot unmarshal number", `["` + strings.Repeat("x", mostControl) + `"]`: "too large",
	} {
		if g := set(list); g.status != 400 || !strings.Contains(g.body, want) {
			t.Errorf("%.40s: %d %s, want %s", list, g.status, g.body, want)
		}
	}
	if g := r.get("/faults"); g.status != 405 || g.header.Get("Allow") != "PUT" {
		t.Errorf("GET is answered %d", g.status)
	}
	set(`[{"error": {}}]`)
	if set(`[]`); r.post(textPath, say("hi", ""), by("kb")...).status != 200 || len(r.Violations()) != 0 {
		t.Errorf("an empty list leaves it ill, or is a violation: %q", r.Violations())
	}
	for _, rates := range []map[string]int{{"c": 1}, {"a": 0}} {
		if _, err := Accounts(map[string]string{"a": "ka"}, rates); err == nil {
			t.Errorf("the rates %v are no error", rates)
		}
	}
	closed := newRig(t, Config{})
	closed.do(http.MethodPut, "/faults", `[]`).want(t, 404, "NotFound")
}
