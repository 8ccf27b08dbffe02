package simulator

import "sluice/gateway/simulator/answer"

// uploadPolicy is the answer of uploads?action=getPolicy.
type uploadPolicy struct {
	Data struct {
		Policy    string `json:"policy"`
		Signature string `json:"signature"`
		Dir       string `json:"upload_dir"`
		Host      string `json:"upload_host"`
		Expires   int    `json:"expire_in_seconds"`
		MaxMB     string `json:"max_file_size_mb"`
		ACL       string `json:"x_oss_object_acl"`
	} `json:"data"`
	RequestID string `json:"request_id"`
}

// serveUploads answers the one action that clients use. The host that it names takes no uploads.
func serveUploads(c *call) (answer.Answer, error) {
	q := c.r.URL.Query()
	if q.Get("action") != "getPolicy" {
		return answer.Answer{}, answer.Invalid("action must be getPolicy")
	}
	if q.Get("model") == "" {
		return answer.Answer{}, answer.Invalid("model is required")
	}
	p := uploadPolicy{RequestID: c.received.ID}
	d := &p.Data
	d.Policy, d.Signature, d.Dir = "eyJjb25kaXRpb25zIjpbXX0=", "c2ltdWxhdGVk", "instant/"+c.received.ID
	d.Host, d.Expires, d.MaxMB, d.ACL = "https://uploads.invalid", 300, "100", "private"
	return answer.Answer{Doc: p}, nil
}
