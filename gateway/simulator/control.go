package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// controlPath is the path for setting faults over HTTP, outside of the service's own paths.
const controlPath = "/faults"

// mostControl bounds a list of faults in bytes.
const mostControl = 1 << 20

// control replaces the faults in force by those in the request.
func (s *Simulator) control(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		w.Header().Set("Allow", http.MethodPut)
		http.Error(w, "PUT a list of faults, such as [{\"account\": \"main\", \"error\": {\"code\": \"Throttling\"}}]",
			http.StatusMethodNotAllowed)
		return
	}
	var list []Fault
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostControl))
	if err == nil {
		err = strictly(body, &list)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, f := range list {
		if f.Account != "" && s.accounts.named(f.Account) == nil {
			http.Error(w, fmt.Sprintf("there is no account %q", f.Account), http.StatusBadRequest)
			return
		}
	}
	s.SetFault(list...)
	w.WriteHeader(http.StatusNoContent)
}

// UnmarshalJSON decodes a fault whose Delay is a text such as "2s". An unknown member is an error.
func (f *Fault) UnmarshalJSON(raw []byte) error {
	type members Fault
	var in struct {
		*members
		Delay string
	}
	in.members = (*members)(f)
	if err := strictly(raw, &in); err != nil || in.Delay == "" {
		return err
	}
	delay, err := time.ParseDuration(in.Delay)
	f.Delay = delay
	return err
}

// strictly decodes JSON into a value. An unknown member is an error.
func strictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
