package simulator

import "testing"

func TestFaultErrorDefaults(t *testing.T) {
	for _, tt := range []struct {
		in     FaultError
		status int
		code   string
	}{
		{FaultError{}, 500, "InternalError"},
		{FaultError{Status: 400}, 400, "InvalidParameter"},
		{FaultError{Status: 401}, 401, "InvalidApiKey"},
		{FaultError{Status: 403}, 403, "AccessDenied"},
		{FaultError{Status: 404}, 404, "ModelNotFound"},
		{FaultError{Status: 429}, 429, "Throttling.RateQuota"},
		{FaultError{Status: 503}, 503, "ModelUnavailable"},
		{FaultError{Status: 504}, 504, "InternalError"},
		{FaultError{Status: 429, Code: "Throttling.AllocationQuota"}, 429, "Throttling.AllocationQuota"},
		{FaultError{Code: "SystemError"}, 500, "SystemError"},
	} {
		if r := tt.in.refusal(); r.status != tt.status || r.code != tt.code || r.message == "" {
			t.Errorf("%+v answers %v, want %d %s", tt.in, r, tt.status, tt.code)
		}
	}
}
