package gateway

// What the tests of behaviour need of the inside.
var (
	NewBufferPool = newBufferPool
)
