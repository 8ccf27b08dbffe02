package pages

import (
	"encoding/csv"
	"net/http"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// files are the exports of Money.
type files struct{ Deps }

// read reads the person and the query of a file's request; if ok is false, it has answered.
func (f files) read(w http.ResponseWriter, r *http.Request) (p access.Person, q figures.MoneyQuery, ok bool) {
	p = access.From(r.Context())
	q, fault := readMoneyQuery(r, f.Now())
	if p.Role == 0 || fault != "" {
		http.Error(w, "Open this from the page Money.", http.StatusBadRequest)
		return p, q, false
	}
	return p, q, true
}

// asFile sets the headers of a file.
func asFile(w http.ResponseWriter, name string, q figures.MoneyQuery) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+"-"+q.From+"-"+q.To+`.csv"`)
	w.Header().Set("Cache-Control", "no-store")
}

func plainProblem(w http.ResponseWriter, err error) {
	e := faultOf(err)
	http.Error(w, e.Sentence(), e.Status())
}

// money writes the table as CSV, with exact amounts.
func (f files) money(w http.ResponseWriter, r *http.Request) {
	p, q, ok := f.read(w, r)
	if !ok {
		return
	}
	m, err := f.Figures.Money(r.Context(), p, q)
	if err != nil {
		plainProblem(w, err)
		return
	}
	asFile(w, "sluice", q)
	out := csv.NewWriter(w)
	head := []string{q.By}
	for _, name := range unit.Names {
		head = append(head, string(name), string(name)+"_estimated")
	}
	_ = out.Write(head)
	in := f.Currency().Money
	for i := range m.Rows {
		row := []string{admin.Cell(m.Rows[i].Name)}
		for u, name := range unit.Names {
			row = append(row, in.Written(name, m.Rows[i].Used[u]), in.Written(name, m.Rows[i].Estimated[u]))
		}
		_ = out.Write(row)
	}
	out.Flush() // fails only if the browser has left
}

// filePatient bounds a browser's time to read a team's part of a file.
const filePatient = 30 * time.Second

// bill writes the bill like sluice usage --focus. If a read fails midway, it cuts the connection, so that the bill does not look
// complete.
func (f files) bill(w http.ResponseWriter, r *http.Request) {
	p, q, ok := f.read(w, r)
	if !ok {
		return
	}
	file := &lateFile{ResponseWriter: w, begin: func() { asFile(w, "sluice-focus", q) }}
	bill, err := admin.NewFocus(file, f.Currency(), f.Provider)
	if err != nil {
		plainProblem(w, &teams.Problem{
			Code: teams.CodeConflict, Text: "a bill needs a currency: set currency in the teams file to a code of ISO 4217, such as CNY",
		})
		return
	}
	out := http.NewResponseController(w)
	err = f.Figures.Bill(r.Context(), p, q, func(rows []limit.Row) error {
		_ = out.SetWriteDeadline(time.Now().Add(filePatient)) // fails only for writers without deadlines
		bill.AddLedger(rows)
		return bill.Flush()
	})
	switch {
	case err == nil:
		_ = bill.Flush() // fails only if the browser has left
	case file.begun:
		panic(http.ErrAbortHandler)
	default:
		plainProblem(w, err)
	}
}

// lateFile sends the header with the first byte, so that an earlier error still has a status.
type lateFile struct {
	http.ResponseWriter
	begin func()
	begun bool
}

func (f *lateFile) Write(text []byte) (int, error) {
	if !f.begun {
		f.begun = true
		f.begin()
	}
	return f.ResponseWriter.Write(text)
}
