package fault

import "testing"

func TestFaultErrorDefaults(t *testing.T) {
	for _, tt := range []struct {
		in     Error
		status int
		code   string
	}{
		{Error{}, 500, "InternalError"},
		{Error{Status: 400}, 400, "InvalidParameter"},
		{Error{Status: 401}, 401, "InvalidApiKey"},
		{Error{Status: 403}, 403, "AccessDenied"},
		{Error{Status: 404}, 404, "ModelNotFound"},
		{Error{Status: 429}, 429, "Throttling.RateQuota"},
		{Error{Status: 503}, 503, "ModelUnavailable"},
		{Error{Status: 504}, 504, "InternalError"},
		{Error{Status: 429, Code: "Throttling.AllocationQuota"}, 429, "Throttling.AllocationQuota"},
		{Error{Code: "SystemError"}, 500, "SystemError"},
	} {
		if r := tt.in.Refusal(); r.Status != tt.status || r.Code != tt.code || r.Message == "" {
			t.Errorf("%+v answers %v, want %d %s", tt.in, r, tt.status, tt.code)
		}
	}
}
