package figures

import "sync"

// together does several things at the same time and returns the first error of the list.
func together(do ...func() error) error {
	errs := make([]error, len(do))
	var doing sync.WaitGroup
	for i := range do {
		doing.Go(func() { errs[i] = do[i]() })
	}
	doing.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
