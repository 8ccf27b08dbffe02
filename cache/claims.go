package cache

// Claims keeps whose task is whose.
type Claims struct{}
