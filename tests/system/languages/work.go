// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// Goroutines, collections, C memory, mapped files and children: what it prints is the same in each run. work [ROUNDS]
package main

/*
#include <stdlib.h>
#include <string.h>
*/
import "C"

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func digest(b []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(b))[:16]
}

func blob(seed int64, size int) []byte {
	b := make([]byte, size)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

// Memory of C: page-aligned, of the size, grown.
func inC(seed int64) string {
	size := 300000
	p := C.aligned_alloc(4096, C.size_t(4096*74))
	q := C.malloc(C.size_t(size))
	copy(unsafe.Slice((*byte)(p), size), blob(seed, size))
	C.memcpy(q, p, C.size_t(size))
	q = C.realloc(q, C.size_t(2*size))
	s := digest(unsafe.Slice((*byte)(q), size))
	C.free(p)
	C.free(q)
	return s
}

func churn(seed int64) string {
	kept := [][]byte{}
	all := ""
	for i := 0; i < 100; i++ {
		kept = append(kept, blob(seed+int64(i), 50000*(1+i%8)))
		if len(kept) > 10 {
			kept = append(kept[:i%9], kept[i%9+1:]...)
		}
		if i%25 == 0 {
			runtime.GC()
			all += inC(seed + int64(i))
		}
	}
	for _, k := range kept {
		all += digest(k)
	}
	return digest([]byte(all))
}

func mapped() string {
	f, err := os.CreateTemp("", "ruse")
	must(err)
	defer os.Remove(f.Name())
	size := 3 << 20
	_, err = f.Write(blob(7, size))
	must(err)
	rw := syscall.PROT_READ | syscall.PROT_WRITE
	shared, err := syscall.Mmap(int(f.Fd()), 0, size, rw, syscall.MAP_SHARED)
	must(err)
	own, err := syscall.Mmap(-1, 0, size, rw, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	must(err)
	shared[100000] = 1
	copy(own, shared)
	own[5] = 2
	s := digest(shared) + " " + digest(own)
	must(syscall.Munmap(shared))
	must(syscall.Munmap(own))
	return s
}

func main() {
	out := make([]string, 4)
	rounds := 1
	if len(os.Args) > 1 {
		var err error
		rounds, err = strconv.Atoi(os.Args[1])
		must(err)
	}
	var all sync.WaitGroup
	for i := range out {
		all.Add(1)
		go func(i int) {
			for r := 0; r < rounds; r++ {
				out[i] = churn(1000 * int64(i))
			}
			all.Done()
		}(i)
	}
	for i := 0; i < 5; i++ {
		c := exec.Command("cksum")
		c.Stdin = strings.NewReader(string(blob(3, 2000000)))
		said, err := c.Output()
		must(err)
		fmt.Printf("child %s", said)
	}
	all.Wait()
	fmt.Println("goroutines", out)
	fmt.Println("mapped", mapped())
	f, err := os.Open("/proc/self/maps")
	must(err)
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.Contains(s.Text(), "/memfd:ruse-memory") {
			n++
		}
	}
	fmt.Fprintln(os.Stderr, "ruse-memory", n)
}
