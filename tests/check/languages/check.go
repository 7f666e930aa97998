/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Verbs from four goroutines, of which the collector of garbage interrupts the threads. */
package main

// int check_lang(int wrong);
import "C"
import (
	"os"
	"sync"
)

var last []byte

func main() {
	var all sync.WaitGroup
	wrong := 0

	if os.Args[1] == "wrong" {
		wrong = 1
	}
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			C.check_lang(C.int(wrong))
		}()
	}
	for i := 0; i < 20000; i++ {
		last = make([]byte, 20000)
	}
	all.Wait()
}
