package gateway_test

import "testing"

// TestRecordHasTheErrorInsideAnAnswer: an answer that begins with status 200 may report an error, for the service's own interface and for a
// front.
func TestRecordHasTheErrorInsideAnAnswer(t *testing.T) {
	text := nativeFrame("one", "null") + nativeFrame(" two", "null")
	for about, tt := range map[string]struct {
		media, answer string
		inner         int
		code          string
	}{
		"first":            {streamType, errorEvent(500), 500, "ModelUnavailable"},
		"after content":    {streamType, text + errorEvent(503), 503, "ModelUnavailable"},
		"without a status": {streamType, "event:error\ndata:{\"code\":\"X\"}\n\n", 500, "X"},
		"to wait":          {streamType, errorEvent(429), 429, "ModelUnavailable"},
		"whole":            {"application/json", `{"code":"InternalError","message":"m"}`, 500, "InternalError"},
		"no word":          {"application/json", `{"code":"say this","message":"m"}`, 500, ""},
		"the key":          {"application/json", `{"code":"` + upstreamKey + `"}`, 500, ""},
		"none":             {streamType, text + nativeFrame("", "stop"), 0, ""},
	} {
		t.Run(about, func(t *testing.T) {
			h := fronted(t, says(200, tt.media, tt.answer, nil))
			for path, body := range map[string]string{textPath: textBody, frontChats: frontStream} {
				record := h.recordOf(t, h.ask("POST", path, body, "X-Service-SSE", "enable"))
				if record.UpstreamStatus != 200 || record.UpstreamError != tt.inner || record.UpstreamCode != tt.code || record.Refusal != "" {
					t.Errorf("%s: %d %q of %+v", path, record.UpstreamError, record.UpstreamCode, record)
				}
			}
		})
	}
}
