package policy_test

import (
	"testing"

	"sluice/policy"
)

// families are the patterns of the settings' defaults.
var families = policy.Families{
	SyncImage: []policy.Pattern{"llm-image*"}, EditImage: []policy.Pattern{"gen2.6-image*"},
}

func TestKind(t *testing.T) {
	for _, tt := range []struct {
		endpoint policy.Endpoint
		body     string
		want     policy.Kind
	}{
		{policy.EndpointText, `{"model":"llm-max"}`, policy.KindText},
		{policy.EndpointText, `{"model":"llm-image"}`, policy.KindText},
		{policy.EndpointMultimodal, `{"model":"llm-vl"}`, policy.KindChat},
		{policy.EndpointMultimodal, `{"model":"llm-image-2.0-pro-2026-06-22"}`, policy.KindImage},
		{policy.EndpointMultimodal, `{"model":"llm-vl","parameters":{"enable_interleave":true}}`, policy.KindChat},
		{policy.EndpointMultimodal, `{"parameters":{"enable_interleave":true},"model":"gen2.6-image"}`, policy.KindInterleaved},
		{policy.EndpointMultimodal, `{"model":"gen2.6-image","parameters":{"enable_interleave":"true"}}`, policy.KindImage},
		{policy.EndpointMultimodal, `{"model":"gen2.6-image"}`, policy.KindImage},
		{policy.EndpointImage, `{"model":"gen2.6-image","parameters":{"enable_interleave":true}}`, policy.KindTask},
		{policy.EndpointImage, `{"model":"gen2.5-t2i"}`, policy.KindTask},
	} {
		q, err := policy.Read(&families, policy.Call{Endpoint: tt.endpoint}, []byte(tt.body))
		if err != nil || q.Kind != tt.want {
			t.Errorf("%s %s: %q, %v; want %q", tt.endpoint, tt.body, q.Kind, err, tt.want)
		}
	}
}
