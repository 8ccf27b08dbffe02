package accounts_test

import (
	"os"
	"testing"

	"sluice/policy/limit/limittest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}
