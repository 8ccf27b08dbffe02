package store

import "github.com/minio/minio-go/v7/pkg/credentials"

// Keys are what a bucket is opened with. The zero Keys are looked up as AWS's own libraries do: the file of credentials, a token of the
// platform, the machine's role.
type Keys struct {
	ID, Secret, Token string
}

// String hides them.
func (Keys) String() string { return "[redacted]" }

// GoString hides them.
func (Keys) GoString() string { return "[redacted]" }

func (k Keys) provider() *credentials.Credentials {
	if k.ID != "" && k.Secret != "" {
		return credentials.NewStaticV4(k.ID, k.Secret, k.Token)
	}
	return credentials.NewChainCredentials([]credentials.Provider{&keyFile{}, &credentials.IAM{}})
}

// keyFile is the file of credentials. The library reads it once; keyFile reads it at each call of the store, so that new keys are used at
// once. A file that cannot be read, or has no keys, changes nothing.
type keyFile struct {
	credentials.FileAWSCredentials
	last credentials.Value
}

// RetrieveWithCredContext implements [credentials.Provider].
func (f *keyFile) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	now, err := f.FileAWSCredentials.RetrieveWithCredContext(cc)
	if f.last.AccessKeyID != "" && (err != nil || now.AccessKeyID == "") {
		return f.last, nil
	}
	f.last = now
	return now, err
}

// IsExpired implements [credentials.Provider]. Keys that a program or a sign-on gave for a time are used for that time.
func (f *keyFile) IsExpired() bool {
	return f.last.Expiration.IsZero() || f.FileAWSCredentials.IsExpired()
}
