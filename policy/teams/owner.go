package teams

// Owner is where a team is defined, and so where it can be changed.
type Owner string

// The owners.
const (
	OwnerFile      Owner = "file"      // the teams file
	OwnerDirectory Owner = "directory" // the directory: see [File.Join]
)
