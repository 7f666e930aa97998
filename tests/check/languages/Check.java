/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Verbs from four threads of a JVM, which collects garbage meanwhile. */
public class Check {
    private static native int run(int wrong);

    private static volatile Object last;

    public static void main(String[] args) throws Exception {
        int wrong = args[0].equals("wrong") ? 1 : 0;
        Thread[] threads = new Thread[4];

        System.load(System.getProperty("check.library"));
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> run(wrong));
            threads[i].start();
        }
        for (int i = 0; i < 20000; i++)
            last = new byte[20000];
        for (Thread thread : threads)
            thread.join();
    }
}
